"""The rounds of a job: an iteration is one, or with buckets one for each."""

from collections.abc import Sequence

from traffic.collectives.algorithm import Algorithm


class Rounds:
    """The rounds of a job: what is run in each, `algorithms` taking turns (one for each bucket).

    `steps` are those of a round, by which the steps of all rounds are counted on.
    """

    def __init__(self, algorithms: Sequence[Algorithm], iterations: int) -> None:
        self.algorithms = algorithms
        self.buckets = len(algorithms)
        self.count = iterations * self.buckets
        self.steps = max(algorithm.steps for algorithm in algorithms)

    def algorithm(self, number: int) -> Algorithm:
        """Return what is run in round `number`."""
        return self.algorithms[number % self.buckets]
