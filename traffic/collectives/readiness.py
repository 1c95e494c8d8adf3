"""Who may use the places of an earlier round again, where finishing a round does not mean that everyone has started it.

The rule and its proof are in `traffic.collectives.memory`: when a rank has finished a round, and all that it sent in it
has been acknowledged, it tells those who send to it. This here sees when that is so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from traffic.collectives.memory import SETS


class Readiness:
    """Sees when each rank is ready for round i + 2; ``tell(rank, i)`` is called then, for all but the last two rounds.

    `steps` are those of a round, by which a message's step says its round.
    """

    def __init__(self, steps: int, rounds: int, tell: Callable[[int, int], None]) -> None:
        self._steps = steps
        self._rounds = rounds
        self._tell = tell
        self._unacknowledged: Counter[tuple[int, int]] = Counter()
        self._finished: set[tuple[int, int]] = set()

    def posted(self, rank: int, step: int) -> None:
        """The rank has posted a message."""
        self._unacknowledged[rank, step // self._steps] += 1

    def acknowledged(self, rank: int, step: int) -> None:
        """A message of the rank's has been acknowledged."""
        key = rank, step // self._steps
        self._unacknowledged[key] -= 1
        self._look(key)

    def finished(self, rank: int, number: int) -> None:
        """The rank has finished round `number`."""
        self._finished.add((rank, number))
        self._look((rank, number))

    def _look(self, key: tuple[int, int]) -> None:
        if key in self._finished and not self._unacknowledged[key]:
            self._finished.remove(key)
            del self._unacknowledged[key]
            rank, number = key
            if number + SETS < self._rounds:
                self._tell(rank, number)
