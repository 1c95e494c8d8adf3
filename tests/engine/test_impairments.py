"""Faults of a wire: which frames they take, and exactly when."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.engine.frame import Frame
from testbed.engine.impairments import Corruption, DropNth, Fault, Faults, LinkDown, RandomLoss, frame_kind
from testbed.engine.pause.frames import pfc_frame
from testbed.engine.reasons import FAULT, LINK_DOWN
from tests.engine.kit import STEADY, Wire, frame_of

WRITE_ONLY, ACKNOWLEDGE, CNP = 0x0A, 0x11, 0x81
BTH_BYTES = 12


def roce(opcode: int, body: bytes = bytes(20), *, ip_version: int = 4, is_data: bool = False) -> Frame:
    """Return a frame with what a wire can see: UDP port 4791, the BTH's opcode, and `body` behind the BTH."""
    ip_bytes = 20 if ip_version == 4 else 40
    udp = bytes(2) + (4791).to_bytes(2, "big") + bytes(4)
    return Frame(bytes(14 + ip_bytes) + udp + bytes([opcode]) + bytes(BTH_BYTES - 1) + body, is_data=is_data)


def data_frame() -> Frame:
    return roce(WRITE_ONLY, bytes(100), is_data=True)


@pytest.mark.parametrize("ip_version", [4, 6])
@pytest.mark.parametrize(
    ("syndrome", "kind"), [(0x00, "ack"), (0x1F, "ack"), (0x20, "nak"), (0x2C, "nak"), (0x60, "nak"), (0x64, "nak")]
)
def test_acknowledgements_are_told_apart_by_their_syndrome(ip_version: int, syndrome: int, kind: str) -> None:
    assert frame_kind(roce(ACKNOWLEDGE, bytes([syndrome, 0, 0, 0]) + bytes(4), ip_version=ip_version)) == kind


def test_other_kinds() -> None:
    assert frame_kind(data_frame()) == "data"
    assert frame_kind(roce(CNP)) == "cnp"
    assert frame_kind(Frame(pfc_frame("02:00:00:00:00:01", {3: 1}))) == "pause"
    assert frame_kind(Frame(bytes(60))) == "other"
    assert frame_kind(Frame(b"")) == "other"


@STEADY
@given(st.integers(1, 8), st.integers(1, 8), st.text("da", max_size=20))
def test_drop_takes_the_nth_of_its_kind_and_count_in_a_row(nth: int, count: int, kinds: str) -> None:
    fault = DropNth("data", nth, count)
    frames = {"d": data_frame(), "a": roce(ACKNOWLEDGE)}
    taken = [fault.on_departure(frames[kind], now=0) for kind in kinds]
    seen, expected = 0, []
    for kind in kinds:
        seen += kind == "d"
        expected.append(FAULT if kind == "d" and nth <= seen < nth + count else None)
    assert taken == expected


def test_any_counts_every_frame() -> None:
    fault = DropNth("any", nth=2, count=1)
    frames = [data_frame(), roce(ACKNOWLEDGE), data_frame()]
    assert [fault.on_departure(frame, now=0) for frame in frames] == [None, FAULT, None]


def test_random_loss_is_the_seeds_own_sequence() -> None:
    fault = RandomLoss("data", 0.1, Random(7))
    taken = [fault.on_departure(data_frame(), now=0) == FAULT for _ in range(1000)]
    same = Random(7)
    assert taken == [same.random() < 0.1 for _ in range(1000)]
    assert sum(taken) == 108
    other = RandomLoss("data", 0.1, Random(8))
    assert [other.on_departure(data_frame(), now=0) == FAULT for _ in range(1000)] != taken


def test_frames_of_other_kinds_cost_a_loss_no_randomness() -> None:
    random = Random(7)
    fault = RandomLoss("data", 0.5, random)
    for _ in range(20):
        assert fault.on_departure(roce(ACKNOWLEDGE), now=0) is None
    assert random.random() == Random(7).random()


def test_random_loss_comes_near_its_probability() -> None:
    fault = RandomLoss("any", 0.02, Random(1))
    lost = sum(fault.on_departure(data_frame(), now=0) == FAULT for _ in range(20_000))
    assert abs(lost - 400) < 4 * (20_000 * 0.02 * 0.98) ** 0.5  # four standard deviations of a binomial


@pytest.mark.parametrize("ip_version", [4, 6])
def test_corruption_flips_one_bit_behind_the_bth(ip_version: int) -> None:
    bth_end = 14 + (20 if ip_version == 4 else 40) + 8 + BTH_BYTES
    fault = Corruption("any", 1.0, Random(3))
    places = set()
    for _ in range(400):
        frame = roce(WRITE_ONLY, bytes(20), ip_version=ip_version)
        before = frame.data
        assert fault.on_departure(frame, now=0) is None  # it goes on; whoever checks the ICRC finds it
        changed = int.from_bytes(frame.data, "big") ^ int.from_bytes(before, "big")
        assert changed.bit_count() == 1
        places.add(len(before) - 1 - (changed.bit_length() - 1) // 8)
    assert places == set(range(bth_end, bth_end + 20))  # each byte had its turn, and none before


def test_corruption_changes_a_copy() -> None:
    frame = data_frame()
    kept = frame.data
    Corruption("data", 1.0, Random(3)).on_departure(frame, now=0)
    assert kept == data_frame().data != frame.data


def test_corruption_leaves_frames_that_are_not_roce() -> None:
    frame = Frame(bytes(range(60)))
    assert Corruption("any", 1.0, Random(3)).on_departure(frame, now=0) is None
    assert frame.data == bytes(range(60))


DOWN_PS, UP_PS = 1_000, 2_000


@pytest.mark.parametrize(
    ("departed", "arrived", "lost"),
    [
        (800, 999, False),  # arrived just before it went down
        (800, 1_000, True),  # its last bit comes in the instant the link goes down
        (999, 1_500, True),  # departs before, arrives while it is down
        (1_200, 1_900, True),
        (1_500, 2_500, True),  # departs while it is down
        (999, 2_500, True),  # the whole time down happens under it
        (1_999, 2_500, True),
        (2_000, 2_500, False),  # departs in the instant the link comes up
    ],
)
def test_a_frame_is_lost_when_it_and_the_time_down_have_an_instant_in_common(
    departed: int, arrived: int, lost: bool
) -> None:
    assert LinkDown(DOWN_PS, UP_PS).lost_in_flight(departed, arrived) == (LINK_DOWN if lost else None)
    at_departure = LinkDown(DOWN_PS, UP_PS).on_departure(data_frame(), departed)
    assert at_departure == (LINK_DOWN if DOWN_PS <= departed < UP_PS else None)


def test_a_link_that_never_comes_up_again() -> None:
    down = LinkDown(DOWN_PS, None)
    assert down.lost_in_flight(0, 999) is None
    assert down.lost_in_flight(10**15, 10**15 + 1) == LINK_DOWN
    assert down.on_departure(data_frame(), 10**15) == LINK_DOWN


def test_a_wire_that_goes_down_and_up_delivers_what_was_outside() -> None:
    """Ten frames back to back, 80 ns each and 100 ns on the way; down from 250 ns until 400 ns."""
    wire = Wire(rate_bps=100 * 10**9, delay_ps=100_000, frames=tuple(frame_of(1000, mark) for mark in range(10)))
    wire.transmitter.impair(Faults([LinkDown(250_000, 400_000)]))
    wire.transmitter.kick()
    wire.loop.run()
    lost = [n for n in range(10) if n * 80 < 400 and (n + 1) * 80 + 100 >= 250]
    assert wire.arrivals.marks == [n for n in range(10) if n not in lost] == [0, 5, 6, 7, 8, 9]
    assert wire.transmitter.lost == {LINK_DOWN: len(lost)}


class _Takes:
    """A fault that takes every frame, in flight or as it departs."""

    def __init__(self, reason: str, log: list[str]) -> None:
        self._reason = reason
        self._log = log

    def on_departure(self, frame: Frame, now: int) -> str | None:  # noqa: ARG002 - the hook's signature
        self._log.append(self._reason)
        return self._reason

    def lost_in_flight(self, departed_ps: int, arrived_ps: int) -> str | None:  # noqa: ARG002 - the hook's signature
        return self._reason


def test_the_first_of_several_faults_names_the_reason() -> None:
    log: list[str] = []
    faults: list[Fault] = [DropNth("data", nth=5, count=1), _Takes("first", log), _Takes("second", log)]
    both = Faults(faults)
    assert both.on_departure(data_frame(), now=0) == "first"
    assert log == ["first"]
    assert both.lost_in_flight(0, 1) == "first"
    assert Faults([]).on_departure(data_frame(), now=0) is None
    assert Faults([]).lost_in_flight(0, 1) is None
