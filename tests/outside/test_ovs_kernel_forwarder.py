"""The proof of a drop with the kernel datapath, where what misses in the kernel's table is overtaken by what does not.

The test plays kernel and ovs-vswitchd by hand: `Kernel` holds the far ends of the TAPs, carries out at once what it has
an entry for, and queues the rest until `decide`.
"""

import os
from collections import deque
from collections.abc import Iterator
from random import Random

import pytest

from testbed.engine.forwarding import DROPPED, PENDING
from testbed.errors import TestbedError
from testbed.outside import ovs_forwarder
from testbed.outside.ovs_kernel_forwarder import UNANSWERED_LIMIT, KernelDatapath
from tests.outside.test_ovs_forwarder import FENCE_ETHERTYPE, Switchboard, roce

DROP_ICRC = 600


def routed(data: bytes) -> bytes | None:
    """Return what the rules make of a frame: one TTL less, or nothing of those from `DROP_ICRC` on."""
    if int.from_bytes(data[-4:], "big") >= DROP_ICRC:
        return None
    return data[:22] + bytes([data[22] - 1]) + data[23:]


class Kernel:
    """The kernel's table, by whole addresses and ICRC, the queue of what misses, and ovs-vswitchd."""

    def __init__(self, board: Switchboard) -> None:
        self.board = board
        self.entries: set[bytes] = set()
        self.queue: deque[tuple[int, bytes]] = deque()
        self.deepest = 0
        self.busy = 0

    def take(self) -> None:
        """Handle what the engine has written by now."""
        for port in self.board.far:
            for data in self.board.taken(port):
                if self._key(data) in self.entries:
                    self._carry_out(port, data)
                else:
                    self.queue.append((port, data))
        self.deepest = max(self.deepest, len(self.queue))

    def decide(self, frames: int = 1) -> None:
        """Let ovs-vswitchd decide on some of what waits, first come first served."""
        for _ in range(min(frames, len(self.queue))):
            port, data = self.queue.popleft()
            self.entries.add(self._key(data))
            self._carry_out(port, data)

    def _carry_out(self, port: int, data: bytes) -> None:
        if data[12:14] == FENCE_ETHERTYPE:
            self.board.put_out(port, data[6:12] + data[6:])  # source copied to destination
        elif (out := routed(data)) is not None:
            self.board.put_out(3, out)

    @staticmethod
    def _key(data: bytes) -> bytes:
        return data[6:14] if data[12:14] == FENCE_ETHERTYPE else data[-4:]


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch) -> Iterator[Switchboard]:
    monkeypatch.setattr(ovs_forwarder, "_QUIET_S", 0)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0})
    board = Switchboard(KernelDatapath)
    yield board
    board.close()


@pytest.fixture
def kernel(board: Switchboard) -> Kernel:
    """A kernel whose ovs-vswitchd decides on one frame whenever the engine waits, unless it is still busy."""
    kernel = Kernel(board)

    def move_on() -> None:
        kernel.take()
        if kernel.busy:
            kernel.busy -= 1
        else:
            kernel.decide()

    board.on_check = move_on
    return kernel


def test_a_fence_never_fits_the_entry_of_another(board: Switchboard, kernel: Kernel) -> None:
    """Without a number in what the kernel looks at, these fences would return before the frame in front of them."""
    assert board.switch.answer(board.submit(1, roce(DROP_ICRC))) == DROPPED
    slow = board.submit(1, roce(8))
    kernel.busy = 5
    assert board.switch.answer(slow) == 3
    assert board.datapath.fences == 3


def test_fences_differ_in_an_address_that_may_be_a_source(board: Switchboard) -> None:
    frames = [board.datapath._fence_frame(number) for number in (1, 2, 2**39)]
    sources = {frame[6:12] for frame in frames}
    assert len(sources) == 3
    assert all(source[0] & 3 == 2 for source in sources)  # local, to one
    assert {(frame[:6], frame[12:14], len(frame)) for frame in frames} == {
        (bytes.fromhex("0200000000fe"), FENCE_ETHERTYPE, 60)
    }


def test_a_frame_that_misses_is_overtaken_and_still_answered(board: Switchboard, kernel: Kernel) -> None:
    assert board.switch.answer(board.submit(1, roce(1))) == 3
    missing, fitting = board.submit(1, roce(2)), board.submit(1, roce(1))
    kernel.take()
    assert (board.switch.answer(fitting), missing.answer) == (3, PENDING)
    assert board.switch.answer(missing) == 3
    assert missing.data == roce(2, ttl=63)


@pytest.mark.parametrize("seed", range(5))
def test_answers_do_not_depend_on_who_overtakes_whom(board: Switchboard, seed: int) -> None:
    """Whether dropped, carried out at once, or decided on at any later time: each frame has the answer of its bytes."""
    kernel, random = Kernel(board), Random(seed)

    def move_on() -> None:
        kernel.take()
        kernel.decide(random.randrange(3))

    board.on_check = move_on
    frames = []
    for _ in range(300):
        icrc = random.choice((random.randrange(20), random.randrange(DROP_ICRC), DROP_ICRC + random.randrange(20)))
        frames.append((icrc, board.submit(random.randrange(1, 4), roce(icrc))))
        if random.random() < 0.3:
            move_on()
    for icrc, frame in frames:
        assert board.switch.answer(frame) == (DROPPED if icrc >= DROP_ICRC else 3)
        assert frame.data == roce(icrc, ttl=64 if icrc >= DROP_ICRC else 63)
    assert board.datapath.unsolicited == 0


@pytest.mark.usefixtures("kernel")
def test_a_copy_waits_until_the_first_is_answered(board: Switchboard) -> None:
    """Else each could be given the TOS of the other: an answer is known by its identity alone."""
    marked = roce(7)[:15] + b"\x03" + roce(7)[16:]
    first = board.submit(1, roce(7))
    second = board.submit(2, marked)
    assert first.answer == 3
    assert board.switch.answer(second) == 3
    assert (first.data[15], second.data[15]) == (0, 3)


def test_the_queue_of_what_misses_never_holds_more_than_it_surely_can(board: Switchboard, kernel: Kernel) -> None:
    frames = [board.submit(1 + number % 3, roce(number)) for number in range(5 * UNANSWERED_LIMIT)]
    assert all(board.switch.answer(frame) == 3 for frame in frames)
    assert UNANSWERED_LIMIT - 1 <= kernel.deepest <= UNANSWERED_LIMIT + 1  # and a fence


@pytest.mark.usefixtures("kernel")
def test_room_is_not_waited_for_where_all_is_answered(board: Switchboard) -> None:
    for number in range(3 * UNANSWERED_LIMIT):
        board.switch.answer(board.submit(1, roce(number)))
    frames = [board.submit(1 + number % 3, roce(1000 + number)) for number in range(UNANSWERED_LIMIT - 1)]
    assert {frame.answer for frame in frames} == {PENDING}


def test_an_engine_on_several_processors_proves_nothing(board: Switchboard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1})
    frame = board.submit(1, roce(7))
    with pytest.raises(TestbedError, match="was moved to several processors"):
        board.switch.answer(frame)
