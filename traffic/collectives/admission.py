"""Receiver-driven admission: a receiver says who may send next, and has only so many messages under way.

A sender keeps a message until the receiver's clear-to-send for it has come: a small RDMA WRITE with immediate, on a
queue pair and in a traffic class of its own. A receiver gives a clear-to-send for each message that it is going to
receive, in order, but no more than `outstanding` at a time over all its peers: the next when one has arrived. So no
more than that many messages can meet in the queue before a receiver, however many peers send to it.

Fair order: a receiver's messages wait in lanes that take turns, one message each. A collective has one lane, in the
order in which its program receives: then the message that the program needs next is always cleared, and nobody waits in
a circle. Flows have a lane each.

References: A. Gangidi et al., RDMA over Ethernet for Distributed AI Training at Meta Scale, SIGCOMM 2024 (receiver-
driven traffic admission: clear-to-sends bound what is in flight); NCCL's receiver likewise writes a slot into the
sender's memory (64 bytes) before the sender may write.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable
from typing import Protocol

CLEAR_TO_SEND_BYTES = 64
"""What a clear-to-send writes: one slot, as NCCL's."""


class Clearable(Protocol):
    """A connection whose messages need leave, as the receiver sees it."""

    def give(self, step: int, piece: int) -> None:
        """Send the clear-to-send of a message to the other end."""


class Gate:
    """One receiver: gives clear-to-sends, at most `limit` outstanding. `peak` is the most that there were."""

    def __init__(self, limit: int) -> None:
        self.peak = 0
        self._limit = limit
        self._outstanding: Counter[Clearable] = Counter()
        self._lanes: dict[Hashable, deque[tuple[Clearable, int, int]]] = {}
        self._turns: deque[Hashable] = deque()

    def expect(self, lane: Hashable, connection: Clearable, step: int, piece: int) -> None:
        """The receiver is going to receive that message, after those that it expects in this lane already."""
        waiting = self._lanes.get(lane)
        if waiting is None:
            waiting = self._lanes[lane] = deque()
            self._turns.append(lane)
        waiting.append((connection, step, piece))

    def arrived(self, connection: Clearable) -> None:
        """A message that was cleared has arrived."""
        self._outstanding[connection] -= 1
        self.clear()

    def clear(self, _nothing: object = None) -> None:
        """Give clear-to-sends while there are any to give; also a handler of the event loop's."""
        while self._turns and self._outstanding.total() < self._limit:
            lane = self._turns.popleft()
            waiting = self._lanes[lane]
            connection, step, piece = waiting.popleft()
            if waiting:
                self._turns.append(lane)
            else:
                del self._lanes[lane]
            self._outstanding[connection] += 1
            self.peak = max(self.peak, self._outstanding.total())
            connection.give(step, piece)

    def forget(self, connection: Clearable) -> None:
        """The connection has failed: what it was cleared for will never arrive, and nothing more is expected of it."""
        del self._outstanding[connection]
        for lane, waiting in list(self._lanes.items()):
            kept = deque(item for item in waiting if item[0] is not connection)
            if kept:
                self._lanes[lane] = kept
            else:
                del self._lanes[lane]
                self._turns.remove(lane)
        self.clear()
