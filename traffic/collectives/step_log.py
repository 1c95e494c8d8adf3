"""When each rank sent and received each step: written by the algorithm, read for the result."""

from collections.abc import Iterable, Sequence

from traffic.collectives.rounds import Rounds
from traffic.results import StepRecord, Wait, is_for_data


class StepLog:
    """First send and last receive by (rank, step); steps count on over the iterations."""

    def __init__(self) -> None:
        self._sent: dict[tuple[int, int], int] = {}
        self._received: dict[tuple[int, int], int] = {}

    def sent(self, rank: int, step: int, now: int) -> None:
        """The rank posts a piece of a step."""
        self._sent.setdefault((rank, step), now)

    def received(self, rank: int, step: int, now: int) -> None:
        """The rank has a piece of a step."""
        self._received[rank, step] = now

    def records(self, names: Sequence[str], rounds: Rounds, waits: Iterable[Wait]) -> tuple[StepRecord, ...]:
        """Return what happened as records, rank by rank; the steps of an iteration's buckets are counted on."""
        rank_of = {name: rank for rank, name in enumerate(names)}
        waited: dict[tuple[int, int], int] = {}
        for wait in filter(is_for_data, waits):
            key = rank_of[wait.rank], wait.step
            waited[key] = waited.get(key, 0) + wait.end_ps - wait.start_ps
        steps, of_iteration = rounds.steps, rounds.steps * rounds.buckets
        return tuple(
            StepRecord(
                rank=names[rank],
                iteration=step // of_iteration,
                step=step % of_iteration,
                phase=rounds.algorithm(step // steps).phase(step % steps),
                send_ps=self._sent.get((rank, step)),
                receive_ps=self._received.get((rank, step)),
                wait_ps=waited.get((rank, step), 0),
            )
            for rank, step in sorted(self._sent.keys() | self._received.keys())
        )
