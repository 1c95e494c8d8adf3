"""Exchanges: frames that are sent up come back one latency later, in the model's order, and the books stay balanced."""

from collections.abc import Callable

import pytest

from controllers.channel import Exchanged, PacketIn
from testbed.control.exchange import ControlExchange, Maintenance
from testbed.engine.forwarding import PUNTED
from testbed.engine.frame import Frame
from testbed.engine.identity import identity
from testbed.engine.pause.frames import pause_frame, pfc_frame
from testbed.errors import TestbedError
from testbed.outside.ovs_forwarder import Emission
from testbed.units import MICROSECOND
from tests.control.kit import DATA_BYTES, Fabric, FakeSwitches
from tests.engine.fabric_kit import PlannedForwarder, mark
from tests.engine.kit import frame_of

LATENCY = 20 * MICROSECOND


class Bench:
    """A switch that sends up the frames for which `up` holds, and whose controller is played by `switches`."""

    def __init__(self, up: Callable[[Frame], bool], monkeypatch: pytest.MonkeyPatch, **fabric: object) -> None:
        self.packet_ins = 0
        monkeypatch.setattr(PlannedForwarder, "submit", self._submit(PlannedForwarder.submit, up))
        self.fabric = Fabric(**fabric)  # type: ignore[arg-type] # a test's options
        self.loop = self.fabric.loop
        self.switches = FakeSwitches()
        self.exchange = ControlExchange(
            self.loop, self.fabric.model, self.switches, self.switches,
            Maintenance(self.switches.forget, self.switches.protect), LATENCY,
        )  # fmt: skip

    def _submit(self, original: Callable[..., None], up: Callable[[Frame], bool]) -> Callable[..., None]:
        def submit(forwarder: PlannedForwarder, in_port: int, frame: Frame) -> None:
            original(forwarder, in_port, frame)
            if up(frame):
                self.packet_ins += 1
                frame.answer, frame.ingress = PUNTED, self.packet_ins

        return submit

    def send(self, *numbers: int, source: int = 0) -> None:
        nic = list(self.fabric.nics.values())[source]
        for number in numbers:
            self.loop.at(0, nic.send, frame_of(DATA_BYTES, mark(source, 1, number)))

    def received(self, host: int) -> list[int]:
        return [number & 0xFFFF for _, number in list(self.fabric.nics.values())[host].received]

    def balanced(self) -> bool:
        return list(self.fabric.model.conservation()) == []


def data(number: int, source: int = 0) -> bytes:
    return frame_of(DATA_BYTES, mark(source, 1, number)).data


def always(_frame: Frame) -> bool:
    return True


def test_a_frame_comes_back_one_latency_after_its_switch_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(always, monkeypatch)
    bench.send(7)
    bench.switches.emissions.append([Emission("leaf0", 2, data(7))])
    bench.loop.run()
    (entry,) = [entry for entry in bench.switches.log if entry[0] == "exchange"]
    arrived = 336_000 + 500_000  # 4,200 B at 100 Gb/s, and 500 ns of cable
    assert entry == ("exchange", arrived + 800_000 + LATENCY, [1], None)
    assert bench.received(1) == [7]
    (time, _), *_ = list(bench.fabric.nics.values())[1].received
    assert time == entry[1] + arrived  # the second hop
    assert (bench.exchange.exchanges, bench.exchange.punted, bench.exchange.data_copies) == (1, 1, 0)
    assert bench.balanced()


def test_frames_behind_a_punted_one_go_on_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(lambda frame: frame.data.endswith(b"\0\1"), monkeypatch)
    bench.send(1, 2, 3)
    bench.switches.emissions.append([Emission("leaf0", 2, data(1))])
    bench.loop.run()
    assert bench.received(1) == [2, 3, 1]
    assert bench.balanced()


def test_an_exchange_settles_first_and_forgets_before_it_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(always, monkeypatch)
    bench.switches.answer = Exchanged(changed=True, cleared=["leaf0"], emitting=["leaf0"])
    bench.send(1)
    bench.loop.run()
    assert bench.switches.steps == ["settle", "open", "exchange", "protect", "forget", "collect"]


def test_packet_ins_of_one_instant_share_an_exchange_in_the_models_order(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(always, monkeypatch)
    for source in (3, 0, 2):
        bench.send(1, source=source)
    bench.loop.run()
    (entry,) = [entry for entry in bench.switches.log if entry[0] == "exchange"]
    assert entry[2] == [1, 2, 3]


def test_a_flooded_frame_goes_everywhere_as_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(always, monkeypatch)
    bench.send(5)
    bench.switches.emissions.append([Emission("leaf0", port, data(5)) for port in (2, 3, 4)])
    bench.loop.run()
    assert [bench.received(host) for host in range(4)] == [[], [5], [5], [5]]
    assert bench.exchange.data_copies == 2
    assert bench.balanced()


def test_a_frame_that_is_not_put_out_is_dropped_by_the_controller(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(always, monkeypatch)
    bench.send(1, 2)
    bench.switches.emissions.append([Emission("leaf0", 2, data(1))])
    bench.loop.run()
    assert bench.fabric.drops == [("leaf0", "controller")]
    assert bench.balanced()


def test_a_frame_that_is_kept_and_sent_later_counts_as_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(always, monkeypatch)
    bench.send(1, 2)
    bench.switches.emissions.extend([[], [Emission("leaf0", 2, data(1)), Emission("leaf0", 2, data(2))]])
    bench.loop.run()
    assert bench.received(1) == [1, 2]
    assert bench.fabric.drops == [("leaf0", "controller")]
    assert bench.exchange.data_copies == 1  # sent once, dropped once, received once
    assert bench.balanced()


def test_a_frame_that_comes_up_again_waits_again(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(always, monkeypatch)
    bench.send(9)
    bench.switches.again.append([PacketIn(77, "leaf0", 1, identity(data(9)).hex(), truncated=False)])
    bench.switches.emissions.extend([[], [Emission("leaf0", 2, data(9))]])
    bench.loop.run()
    first, second = (entry for entry in bench.switches.log if entry[0] == "exchange")
    assert (first[2], second[2]) == ([1], [77])
    assert second[1] - first[1] == LATENCY
    assert bench.received(1) == [9]
    assert bench.fabric.drops == []
    assert bench.balanced()


def test_a_frame_that_is_put_out_and_comes_up_again_is_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(always, monkeypatch)
    bench.send(9)
    bench.switches.again.append([PacketIn(77, "leaf0", 1, identity(data(9)).hex(), truncated=False)])
    bench.switches.emissions.extend([[Emission("leaf0", 3, data(9))], [Emission("leaf0", 2, data(9))]])
    bench.loop.run()
    assert (bench.received(1), bench.received(2)) == ([9], [9])
    assert bench.exchange.data_copies == 1
    assert bench.balanced()


def test_a_frame_that_comes_up_without_having_been_with_the_controller_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench(always, monkeypatch)
    bench.send(9)
    bench.switches.again.append([PacketIn(77, "leaf0", 1, identity(data(8)).hex(), truncated=False)])
    with pytest.raises(TestbedError, match="switch leaf0 sent the controller a frame, from port 1, that was not with"):
        bench.loop.run()


def test_memory_is_freed_while_a_frame_is_with_the_controller(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(always, monkeypatch, qos={})
    bench.send(1)
    bench.switches.emissions.append([Emission("leaf0", 2, data(1))])
    bench.loop.run(10 * MICROSECOND)
    assert bench.fabric.model.switches["leaf0"].memory.used_bytes == 0
    bench.loop.run()
    assert bench.received(1) == [1]
    assert bench.balanced()
    assert list(bench.fabric.model.accounting()) == []


def test_a_controllers_pause_frame_stops_the_neighbour_and_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(lambda _frame: False, monkeypatch, qos={"pfc": {}})
    frame = pfc_frame("02:01:00:00:00:01", {3: 1000})
    bench.switches.emissions.append([Emission("leaf0", 1, frame)])
    bench.loop.at(MICROSECOND, lambda _nothing: bench.exchange.perform(decision=4))
    bench.loop.run(3 * MICROSECOND)
    assert bench.fabric.model.transmitters["h0-eth0"].paused_mask == 1 << 3
    bench.loop.run()
    assert bench.fabric.model.transmitters["h0-eth0"].paused_mask == 0
    assert list(bench.fabric.model.accounting()) == []
    assert bench.balanced()


@pytest.mark.parametrize("kind", ["pfc", "pause"])
def test_a_controllers_pause_frames_are_sent_as_often_as_received(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    bench = Bench(lambda _frame: False, monkeypatch, qos={"pfc": {"kind": kind}})
    mac = "02:01:00:00:00:01"
    frames = pfc_frame(mac, {3: 1000, 4: 0}), pause_frame(mac, 1000), pause_frame(mac, 0)
    bench.switches.emissions.append([Emission("leaf0", 1, frame) for frame in frames])
    bench.loop.at(MICROSECOND, lambda _nothing: bench.exchange.perform(decision=4))
    bench.loop.run()
    control = bench.fabric.model.flow_control
    assert control is not None
    sender, receiver = control.senders["leaf0-eth1"], control.receivers["h0-eth0"]
    assert (sender.xoff_frames, sender.xon_frames) == (receiver.xoff_frames, receiver.xon_frames)
    assert (sum(sender.xoff_frames), sum(sender.xon_frames)) == (2, 2)
