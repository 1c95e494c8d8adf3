"""From a scenario's faults to impairments: on the right wires, each with randomness of its own."""

from testbed.engine.faults import impair
from testbed.engine.loop import EventLoop
from testbed.engine.transmitter import Transmitter
from testbed.fabric.build import build_plan
from testbed.scenario.model import Corruption, DropNth, FabricOptions, Fault, LinkDown, RandomLoss
from tests.engine.kit import Arrivals, ListSource, frame_of

PLAN = build_plan(FabricOptions.model_validate({"topology": {"kind": "single-switch", "hosts": 3}}))


def delivered(faults: list[Fault], seed: int = 1) -> dict[str, list[int]]:
    """Send 200 frames by every port of the plan, and return which arrived, by the sending port."""
    loop = EventLoop()
    transmitters, arrivals = {}, {}
    for port in PLAN.ports():
        transmitters[port.name] = Transmitter(loop, port.name, 100 * 10**9, 500_000)
        arrivals[port.name] = Arrivals(loop)
        source = ListSource(*(frame_of(1000, mark) for mark in range(200)))
        transmitters[port.name].connect(source, arrivals[port.name])
    impair(PLAN, transmitters, faults, seed)
    for transmitter in transmitters.values():
        transmitter.kick()
    loop.run()
    return {name: arrived.marks for name, arrived in arrivals.items()}


def test_without_faults_no_wire_is_impaired() -> None:
    assert all(marks == list(range(200)) for marks in delivered([]).values())


def test_a_fault_of_a_port_concerns_what_that_port_sends_alone() -> None:
    got = delivered([DropNth(kind="drop", port="leaf0-eth2", nth=3, count=2)])
    assert got.pop("leaf0-eth2") == [mark for mark in range(200) if mark not in (2, 3)]
    assert all(marks == list(range(200)) for marks in got.values())


def test_link_down_concerns_both_directions() -> None:
    got = delivered([LinkDown.model_validate({"kind": "link-down", "link": "h1-leaf0", "at": "0ps"})])
    assert got.pop("h1-eth0") == got.pop("leaf0-eth2") == []
    assert all(marks == list(range(200)) for marks in got.values())


def test_each_fault_has_randomness_of_its_own() -> None:
    both: list[Fault] = [RandomLoss(kind="loss", port=port, probability=0.2) for port in ("h0-eth0", "h1-eth0")]
    got = delivered(both)
    assert got["h0-eth0"] != got["h1-eth0"]
    assert got["h0-eth0"] == delivered(both[:1])["h0-eth0"]  # a second fault does not disturb the first
    assert delivered(both) == got
    assert delivered(both, seed=2)["h0-eth0"] != got["h0-eth0"]


def test_faults_of_one_port_add_up() -> None:
    faults: list[Fault] = [
        DropNth(kind="drop", port="h0-eth0", nth=1),
        Corruption(kind="corrupt", port="h0-eth0", probability=1.0),
        DropNth(kind="drop", port="h0-eth0", nth=2),
    ]
    assert delivered(faults)["h0-eth0"] == [mark for mark in range(200) if mark not in (0, 2)]
