"""Matching of answers to questions and the proof of a drop, with socket pairs in place of TAP devices.

The test plays Open vSwitch by hand: `Switchboard` holds the other ends. While the forwarder waits for a fence it calls
its `check`, and there the test lets its Open vSwitch move on: so nothing here needs a thread or a real switch.
"""

import socket
from collections.abc import Callable, Iterator

import pytest

from controllers.channel import PacketIn
from testbed.engine.forwarding import DROPPED, PENDING, PUNTED
from testbed.engine.frame import Frame
from testbed.errors import TestbedError
from testbed.fabric.build import build_plan
from testbed.outside import ovs_forwarder
from testbed.outside.ovs_forwarder import OUTSTANDING_LIMIT, PUNT_LIMIT, Emission, OvsDatapath, identity
from testbed.scenario.model import FabricOptions

PLAN = build_plan(FabricOptions.model_validate({"topology": {"kind": "single-switch", "hosts": 3}}))
FENCE_ETHERTYPE = bytes.fromhex("88b5")


def roce(icrc: int, *, ttl: int = 64, size: int = 100) -> bytes:
    """Return a frame that passes for RoCE over IPv4, with a TTL that a switch changes and an ICRC that it does not."""
    udp = bytes(2) + (4791).to_bytes(2, "big") + bytes(4)
    head = bytes(12) + b"\x08\x00" + bytes(8) + bytes([ttl]) + bytes(11) + udp
    return head + bytes(size - len(head) - 4) + icrc.to_bytes(4, "big")


def roce6(icrc: int) -> bytes:
    udp = bytes(2) + (4791).to_bytes(2, "big") + bytes(4)
    return bytes(12) + b"\x86\xdd" + bytes(40) + udp + bytes(20) + icrc.to_bytes(4, "big")


class Switchboard:
    """The far ends of the TAPs: what Open vSwitch would see and send. `on_check` runs while the forwarder waits."""

    def __init__(self, kind: type[OvsDatapath] = OvsDatapath) -> None:
        pairs = {port.name: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for port in PLAN.switches[0].ports}
        self._pairs = list(pairs.values())
        self.far = {port.number: pairs[port.name][1] for port in PLAN.switches[0].ports}
        for near, far in self._pairs:
            near.setblocking(False)
            far.setblocking(False)
        self.on_check: Callable[[], None] = lambda: None
        taps = {name: near.fileno() for name, (near, _) in pairs.items()}
        self.synced: list[str] = []
        self.datapath = kind(PLAN, taps, lambda: self.on_check(), self.synced.append)
        self.switch = self.datapath.switches["leaf0"]

    def taken(self, port: int) -> list[bytes]:
        """Return what the forwarder has written into `port` since last asked."""
        frames = []
        while True:
            try:
                frames.append(self.far[port].recv(10_000))
            except BlockingIOError:
                return frames

    def put_out(self, port: int, data: bytes) -> None:
        """Let Open vSwitch send `data` out of `port`."""
        self.far[port].send(data)

    def return_fences(self, port: int) -> int:
        """Send back every fence written into `port`, as the top-priority flow does; drop the rest. Return how many."""
        fences = [data for data in self.taken(port) if data[12:14] == FENCE_ETHERTYPE]
        for fence in fences:
            self.put_out(port, fence)
        return len(fences)

    def submit(self, port: int, data: bytes) -> Frame:
        frame = Frame(data)
        self.switch.submit(port, frame)
        return frame

    def close(self) -> None:
        self.datapath.close()
        for pair in self._pairs:
            for end in pair:
                end.close()


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch) -> Iterator[Switchboard]:
    monkeypatch.setattr(ovs_forwarder, "_QUIET_S", 0)
    board = Switchboard()
    yield board
    board.close()


def test_identity_of_roce_leaves_out_what_a_router_rewrites() -> None:
    assert identity(roce(0xCAFEBABE)) == identity(roce(0xCAFEBABE, ttl=63))
    assert identity(roce(1)) != identity(roce(2))
    assert identity(roce6(1)) != identity(roce6(2))


def test_frames_of_equal_icrc_and_other_psn_are_told_apart() -> None:
    frame = roce(7)
    other_psn = frame[:53] + bytes([frame[53] ^ 1]) + frame[54:]
    assert other_psn[-4:] == frame[-4:]
    assert identity(other_psn) != identity(frame)


def test_identity_of_other_frames_leaves_out_what_a_router_rewrites() -> None:
    frame = bytes(range(100))
    rewritten = bytes(12) + frame[12:22] + b"\x3f" + frame[23:24] + b"\0\0" + frame[26:]  # MACs, TTL, checksum
    assert identity(frame) == identity(rewritten)
    assert identity(frame) != identity(frame[:-1] + b"\0")


def test_a_frame_comes_out_rewritten(board: Switchboard) -> None:
    frame = board.submit(1, roce(7))
    assert (frame.answer, board.taken(1)) == (PENDING, [roce(7)])
    board.put_out(3, roce(7, ttl=63))
    assert board.switch.answer(frame) == 3
    assert frame.data == roce(7, ttl=63)
    assert board.switch.frames_in == {1: 1, 2: 0, 3: 0}
    assert board.switch.frames_out == {1: 0, 2: 0, 3: 1}


def test_answers_are_matched_in_any_order(board: Switchboard) -> None:
    frames = [board.submit(1 + number % 2, roce(number)) for number in range(6)]
    for number in (4, 0, 5, 2, 1, 3):
        board.put_out(1 + number % 3, roce(number))
    assert [board.switch.answer(frame) for frame in frames] == [1 + number % 3 for number in range(6)]
    assert board.datapath.fences == 0


def test_equal_frames_are_answered_first_in_first_out(board: Switchboard) -> None:
    """A packet sent again has the bytes of the first, and so its identity."""
    first, second = board.submit(1, roce(7)), board.submit(1, roce(7))
    board.put_out(2, roce(7))
    assert board.switch.answer(first) == 2
    assert second.answer == PENDING
    board.put_out(2, roce(7))
    assert board.switch.answer(second) == 2
    assert board.switch.waiting == {}


def test_a_frame_is_dropped_only_when_two_fences_came_back_without_it(board: Switchboard) -> None:
    fences: list[int] = []
    board.on_check = lambda: fences.append(board.return_fences(1))
    frame = board.submit(1, roce(7))
    assert board.switch.answer(frame) == DROPPED
    assert sum(fences) == board.datapath.fences == 2
    assert board.switch.waiting == {}
    assert board.switch.ports[1].outstanding == 0
    assert board.switch.frames_in == {1: 3, 2: 0, 3: 0}  # Open vSwitch counts the fences too
    assert board.switch.frames_out == {1: 2, 2: 0, 3: 0}


def test_a_frame_sent_after_the_first_fence_of_its_batch_is_not_dropped(board: Switchboard) -> None:
    """Open vSwitch sends a batch's frames port by port, so a fence may overtake the frame before it, once."""

    def move_on() -> None:
        fences = [data for data in board.taken(1) if data[12:14] == FENCE_ETHERTYPE]
        for fence in fences:
            board.put_out(1, fence)
            if fence[14:22] == (1).to_bytes(8, "big"):
                board.put_out(2, roce(7, ttl=63))

    board.on_check = move_on
    frame = board.submit(1, roce(7))
    assert board.switch.answer(frame) == 2
    assert board.datapath.unsolicited == 0


def test_one_drop_leaves_equal_frames_of_others_alone(board: Switchboard) -> None:
    lost, kept = board.submit(1, roce(7)), board.submit(2, roce(8))
    board.on_check = lambda: void(board.return_fences(1))
    assert board.switch.answer(lost) == DROPPED
    assert kept.answer == PENDING
    board.put_out(3, roce(8))
    assert board.switch.answer(kept) == 3


def void(_value: object) -> None:
    """Forget a value."""


def test_a_fence_that_does_not_return_ends_the_run(board: Switchboard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ovs_forwarder, "_FENCE_PATIENCE_S", -1)
    frame = board.submit(1, roce(7))
    with pytest.raises(TestbedError, match="did not return a fence frame sent into leaf0-eth1"):
        board.switch.answer(frame)


def test_a_dead_switch_is_noticed_while_waiting_for_a_fence(board: Switchboard) -> None:
    def dead() -> None:
        raise TestbedError("ovs-vswitchd has ended")

    board.on_check = dead
    frame = board.submit(1, roce(7))
    with pytest.raises(TestbedError, match="ovs-vswitchd has ended"):
        board.switch.answer(frame)


def test_no_port_has_more_frames_outstanding_than_its_socket_surely_holds(board: Switchboard) -> None:
    frames = [board.submit(1, roce(number)) for number in range(OUTSTANDING_LIMIT)]
    for number in range(OUTSTANDING_LIMIT):
        board.put_out(2, roce(number))
    one_more = board.submit(1, roce(99))
    assert frames[0].answer == 2  # it had to wait for room
    assert board.switch.ports[1].outstanding <= OUTSTANDING_LIMIT
    board.put_out(3, roce(99))
    assert board.switch.answer(one_more) == 3


def test_room_is_made_by_proving_a_drop_too(board: Switchboard) -> None:
    frames = [board.submit(1, roce(number)) for number in range(OUTSTANDING_LIMIT)]
    board.on_check = lambda: void(board.return_fences(1))
    board.submit(1, roce(99))
    assert {frame.answer for frame in frames} == {DROPPED}  # one proof is enough for all that stood before it
    assert board.datapath.fences == 2
    assert board.switch.ports[1].outstanding == 1


def test_frames_that_nobody_sent_in_are_counted(board: Switchboard) -> None:
    frame = board.submit(1, roce(7))
    board.put_out(2, roce(1234))
    board.put_out(3, roce(7))
    assert board.switch.answer(frame) == 3
    assert board.datapath.unsolicited == 1
    assert board.switch.frames_out == {1: 0, 2: 1, 3: 1}


# --- the controller --------------------------------------------------------------------------------------------------


def sent_up(number: int, port: int, data: bytes, *, truncated: bool = False) -> PacketIn:
    return PacketIn(number, "leaf0", port, identity(data).hex(), truncated)


def test_a_frame_that_went_up_is_punted_when_it_is_proved_to_have_left_by_no_port(board: Switchboard) -> None:
    board.on_check = lambda: void(board.return_fences(1))
    frame = board.submit(1, roce(7))
    board.datapath.on_packet_in(sent_up(5, 1, roce(7)))
    assert frame.answer == PENDING
    assert board.switch.answer(frame) == PUNTED
    assert frame.ingress == 5
    assert (board.datapath.fences, board.synced) == (2, ["leaf0"])
    assert (board.switch.waiting, board.datapath.packet_ins) == ({}, {})


def test_news_of_packet_ins_may_come_while_a_drop_is_proved(board: Switchboard) -> None:
    """The barrier that ends the proof brings what the switch has sent up before."""
    frame = board.submit(1, roce(7))
    board.on_check = lambda: void(board.return_fences(1))
    board.datapath._sync = lambda _switch: board.datapath.on_packet_in(sent_up(1, 1, roce(7)))
    assert board.switch.answer(frame) == PUNTED


def test_equal_frames_are_told_apart_by_port_and_order(board: Switchboard) -> None:
    first, second, other = board.submit(1, roce(7)), board.submit(1, roce(7)), board.submit(2, roce(7))
    board.on_check = lambda: void((board.return_fences(1), board.return_fences(2)))
    for number, port in ((1, 2), (2, 1), (3, 1)):
        board.datapath.on_packet_in(sent_up(number, port, roce(7)))
    board.datapath.settle()
    assert [(frame.answer, frame.ingress) for frame in (first, second, other)] == [
        (PUNTED, 2), (PUNTED, 3), (PUNTED, 1),
    ]  # fmt: skip


def test_settling_answers_every_frame(board: Switchboard) -> None:
    board.on_check = lambda: void(board.return_fences(1))
    kept, lost = board.submit(2, roce(1)), board.submit(1, roce(2))
    board.put_out(3, roce(1))
    board.datapath.settle()
    assert (kept.answer, lost.answer) == (3, DROPPED)


def test_a_switch_that_may_punt_has_no_more_outstanding_than_it_keeps_packet_ins(
    board: Switchboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert PUNT_LIMIT < 100
    monkeypatch.setattr(ovs_forwarder, "PUNT_LIMIT", 3)
    board.switch.may_punt = True
    frames = [board.submit(port, roce(port)) for port in (1, 2, 3)]
    board.put_out(3, roce(2))
    board.on_check = lambda: void(board.return_fences(1))
    board.submit(2, roce(9))
    assert [frame.answer for frame in frames].count(PENDING) == 2
    assert sum(port.outstanding for port in board.switch.ports.values()) == 3


def test_packet_outs_are_collected_by_port_in_their_order(board: Switchboard) -> None:
    board.on_check = lambda: void(board.return_fences(1))
    board.datapath.open_to_emissions()
    for port, icrc in ((3, 1), (2, 2), (3, 3)):
        board.put_out(port, roce(icrc))
    emissions, again = board.datapath.collect(["leaf0"])
    assert emissions == [Emission("leaf0", port, roce(icrc)) for port, icrc in ((2, 2), (3, 1), (3, 3))]
    assert again == []
    assert board.datapath.unsolicited == 0
    board.put_out(2, roce(4))
    board.datapath.settle()
    board.datapath._drain(0)
    assert board.datapath.unsolicited == 1


def test_what_comes_up_again_in_an_exchange_is_handed_on(board: Switchboard) -> None:
    board.datapath.open_to_emissions()
    first, second = sent_up(9, 1, roce(7)), sent_up(8, 2, roce(7))
    board.datapath.on_packet_in(second)
    board.datapath.on_packet_in(first)
    assert board.datapath.collect([]) == ([], [first, second])


def test_what_comes_up_again_late_is_waited_for(board: Switchboard) -> None:
    """A packet-in may come behind the barrier's answer, but not behind that of a barrier after a fence's return."""
    board.datapath.open_to_emissions()
    board.on_check = lambda: void(board.return_fences(1))
    again = sent_up(9, 1, roce(7))
    board.datapath._sync = lambda _switch: board.datapath.on_packet_in(again)
    assert board.datapath.collect(["leaf0"]) == ([], [again])


def test_a_frame_that_goes_up_and_out_is_refused(board: Switchboard) -> None:
    frame = board.submit(1, roce(7))
    board.datapath.on_packet_in(sent_up(1, 1, roce(7)))
    board.put_out(2, roce(7))
    board.on_check = lambda: void(board.return_fences(1))
    with pytest.raises(TestbedError, match="which it had sent on as well; on the model clock"):
        board.switch.answer(frame)
    with pytest.raises(TestbedError, match="leave one of the two out"):
        board.datapath.on_packet_in(sent_up(2, 1, roce(8)))


def test_a_truncated_packet_in_is_refused(board: Switchboard) -> None:
    board.submit(1, roce(7))
    with pytest.raises(TestbedError, match="but not all of it; send whole frames up"):
        board.datapath.on_packet_in(sent_up(1, 1, roce(7)[:64], truncated=True))


@pytest.mark.parametrize(("looks", "count"), [(True, 1), (False, 0)])
def test_marks_that_rules_make_are_counted(board: Switchboard, looks: bool, count: int) -> None:
    board.switch.looks_for_marks = looks
    plain, marked = roce(7), roce(8)
    marked = marked[:15] + b"\x03" + marked[16:]
    frames = [board.submit(1, plain), board.submit(1, marked)]
    board.put_out(2, plain[:15] + b"\x03" + plain[16:])
    board.put_out(2, marked)
    for frame in frames:
        board.switch.answer(frame)
    assert board.switch.marked_frames == count
