"""A NIC on a bridged fabric: its own frames, frames for groups, and nobody else's."""

from testbed.control.bridged import MacFilter
from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop
from testbed.engine.transmitter import Transmitter
from tests.engine.fabric_kit import TestNic
from tests.engine.kit import Arrivals

MAC = "02:00:00:00:00:05"


def frame(destination: str, *, is_data: bool = False) -> Frame:
    return Frame(bytes.fromhex(destination.replace(":", "")) + bytes(60), is_data=is_data)


def test_frames_for_others_are_left_alone() -> None:
    nic = TestNic(EventLoop())
    filtered = MacFilter(nic, MAC)
    for destination in (MAC, "ff:ff:ff:ff:ff:ff", "01:80:c2:00:00:0e"):
        filtered.receive(frame(destination))
    assert len(nic.received) == 3
    filtered.receive(frame("02:00:00:00:00:06", is_data=True))
    filtered.receive(frame("02:00:00:00:00:06"))
    assert len(nic.received) == 3
    assert (filtered.other_frames, filtered.other_data_frames) == (2, 1)


def test_it_sends_as_the_nic_does() -> None:
    loop = EventLoop()
    nic, arrivals = TestNic(loop), Arrivals(loop)
    transmitter = Transmitter(loop, "h0-eth0", 10**11, 0)
    transmitter.connect(filtered := MacFilter(nic, MAC), arrivals)
    filtered.attach(transmitter)
    sent = [frame(MAC), frame(MAC)]
    for each in sent:
        nic.send(each)
    loop.run()
    assert [arrived for _, arrived in arrivals.log] == sent
