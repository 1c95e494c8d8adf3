"""A switch: its latency, its drops, and that the order in which answers come never changes a result."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from testbed.engine.forwarding import DROPPED, PENDING
from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop
from testbed.engine.reasons import OPENFLOW, SHARED_FULL
from testbed.engine.switch import Switch
from testbed.engine.transmitter import Transmitter
from tests.engine.kit import STEADY, Arrivals, frame_of, mark_of

LATENCY_PS = 800_000
RATE_BPS = 100_000_000_000
PORTS = 4


def way_of(mark: int) -> int:
    """Return the port by which a frame leaves: its mark says so; every fifth goes nowhere."""
    return DROPPED if mark % 5 == 4 else mark % PORTS + 1


class Immediate:
    """A forwarder that knows at once."""

    def submit(self, in_port: int, frame: Frame) -> None:  # noqa: ARG002 - a forwarder's signature
        frame.answer = way_of(mark_of(frame))

    def answer(self, frame: Frame) -> int:
        return frame.answer


class Late:
    """A forwarder that answers when it likes, in any order: `choose(n)` picks which of n outstanding frames is next.

    With every submission it also answers `eager()` of those outstanding unasked. Frames leave rewritten.
    """

    def __init__(self, choose: Callable[[int], int], eager: Callable[[], int]) -> None:
        self._choose = choose
        self._eager = eager
        self._outstanding: list[Frame] = []

    def submit(self, in_port: int, frame: Frame) -> None:  # noqa: ARG002 - a forwarder's signature
        frame.answer = PENDING
        self._outstanding.append(frame)
        for _ in range(min(self._eager(), len(self._outstanding))):
            self._answer_one()

    def answer(self, frame: Frame) -> int:
        while frame.answer == PENDING:
            self._answer_one()
        return frame.answer

    def _answer_one(self) -> None:
        frame = self._outstanding.pop(self._choose(len(self._outstanding)))
        frame.answer = way_of(mark_of(frame))
        frame.data = b"\1" + frame.data[1:]


class OneSwitch:
    """A switch with four ports, and what comes out of each."""

    def __init__(self, forwarder: Immediate | Late, buffer_bytes: int = 10**6) -> None:
        self.loop = EventLoop()
        self.drops: list[tuple[int, str, str, int]] = []
        self.switch = Switch(self.loop, "s0", LATENCY_PS, buffer_bytes, forwarder, self._drop)
        self.arrivals = {}
        for number in range(1, PORTS + 1):
            transmitter = Transmitter(self.loop, f"s0-eth{number}", RATE_BPS, 0)
            port = self.switch.add_port(number, transmitter)
            self.arrivals[number] = Arrivals(self.loop)
            transmitter.connect(port.queue, self.arrivals[number])

    def _drop(self, where: str, reason: str, frame: Frame) -> None:
        self.drops.append((self.loop.now, where, reason, mark_of(frame)))

    def run(self, receptions: list[tuple[int, int, int]]) -> list[object]:
        """Receive (time, in port, size) each with its number as mark; return all that happened."""
        for mark, (time, port, size) in enumerate(receptions):
            self.loop.at(time, self.switch.ports[port].receive, frame_of(size, mark))
        self.loop.run()
        logs = {number: [(t, mark_of(frame)) for t, frame in got.log] for number, got in self.arrivals.items()}
        return [logs, self.drops, self.switch.memory.peak_bytes, self.switch.dropped]


receptions = st.lists(
    st.tuples(st.integers(0, 3_000_000), st.integers(1, PORTS), st.integers(84, 4200)), min_size=1, max_size=30
)


def test_a_frame_leaves_one_latency_after_it_arrived() -> None:
    logs, drops, *_ = OneSwitch(Immediate()).run([(1_000, 1, 1250), (1_000, 2, 1250)])
    assert logs == {1: [(1_000 + LATENCY_PS + 100_000, 0)], 2: [(1_000 + LATENCY_PS + 100_000, 1)], 3: [], 4: []}
    assert drops == []


def test_frames_for_one_port_wait_in_its_queue() -> None:
    """Marks 0 and 8 both leave by port 1: the second waits for the first's 100 ns."""
    logs, *_ = OneSwitch(Immediate()).run([(0, 1, 1250)] * 9)
    assert logs[1] == [(LATENCY_PS + 100_000, 0), (LATENCY_PS + 200_000, 8)]  # type: ignore[index]  # a log by port


def test_a_frame_that_goes_nowhere_is_dropped_by_name() -> None:
    one = OneSwitch(Immediate())
    one.run([(n, 1, 100) for n in range(5)])
    assert one.drops == [(4 + LATENCY_PS, "s0", OPENFLOW, 4)]
    assert one.switch.dropped == {OPENFLOW: 1}


def test_a_full_memory_drops_at_the_port() -> None:
    """Each port's first frame goes straight on the wire; then frame 5 fills the memory, and 6, 7 and 8 find it full."""
    one = OneSwitch(Immediate(), buffer_bytes=1000)
    one.run([(0, 1, 1024)] * 9)  # 1000 bytes without the wire's overhead
    assert [(where, reason, mark) for _, where, reason, mark in one.drops] == [
        ("s0", OPENFLOW, 4),
        ("s0-eth3", SHARED_FULL, 6),
        ("s0-eth4", SHARED_FULL, 7),
        ("s0-eth1", SHARED_FULL, 8),
    ]
    assert [arrivals.marks for arrivals in one.arrivals.values()] == [[0], [1, 5], [2], [3]]
    assert [port.queue.dropped for port in one.switch.ports.values()] == [{SHARED_FULL: 1}, {}, *[{SHARED_FULL: 1}] * 2]


@STEADY
@given(receptions, st.data())
def test_the_order_of_answers_changes_nothing(frames: list[tuple[int, int, int]], data: st.DataObject) -> None:
    late = Late(
        choose=lambda count: data.draw(st.integers(0, count - 1)),
        eager=lambda: data.draw(st.integers(0, 4)),
    )
    assert OneSwitch(late, buffer_bytes=20_000).run(frames) == OneSwitch(Immediate(), buffer_bytes=20_000).run(frames)


@STEADY
@given(receptions)
def test_received_is_queued_or_dropped(frames: list[tuple[int, int, int]]) -> None:
    one = OneSwitch(Immediate(), buffer_bytes=6_000)
    one.run(frames)
    received = [port.received_frames for port in one.switch.ports.values()]
    assert received == [sum(port == number for _, port, _ in frames) for number in range(1, PORTS + 1)]
    arrived = sum(len(arrivals.log) for arrivals in one.arrivals.values())
    assert sum(received) == arrived + len(one.drops)
    assert one.switch.memory.used_bytes == 0


def test_a_frame_leaves_as_the_forwarder_rewrote_it() -> None:
    one = OneSwitch(Late(choose=lambda _count: 0, eager=lambda: 0))
    one.run([(0, 2, 100)])
    assert [frame.data[0] for _, frame in one.arrivals[1].log] == [1]
