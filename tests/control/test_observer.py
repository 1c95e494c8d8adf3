"""What a policy sees: differences of the engine's counters, interval by interval."""

from controllers.policy import SetPfc
from controllers.policy.telemetry import FlowTelemetry
from testbed.control.actions import EngineActions
from testbed.control.flows import FlowCounter
from testbed.control.observer import Observer
from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop
from testbed.engine.transmitter import Transmitter
from testbed.units import MICROSECOND, serialisation_ps
from tests.control.kit import DATA_BYTES, Fabric
from tests.engine.kit import Arrivals, ListSource

RATE_BPS = 100_000_000_000
FRAME_PS = serialisation_ps(DATA_BYTES, RATE_BPS)


def observer_of(fabric: Fabric) -> Observer:
    actions = EngineActions(fabric.model, {})
    return Observer(fabric.plan, fabric.model, actions.ramps, actions.alphas, flows=False)


def test_bytes_and_utilisation_are_of_the_interval() -> None:
    fabric = Fabric(qos={})
    observer = observer_of(fabric)
    fabric.send(0, 1, 10)
    fabric.loop.run(100 * MICROSECOND)
    first = observer.look()
    assert (first.time_ps, first.interval_ps) == (100 * MICROSECOND, 100 * MICROSECOND)
    out, into = first.port("leaf0-eth2"), first.port("leaf0-eth1")
    assert (out.sent_bytes, into.received_bytes, out.peer) == (10 * DATA_BYTES, 10 * DATA_BYTES, "h1")
    assert out.utilisation == round(10 * FRAME_PS / (100 * MICROSECOND), 6)
    fabric.loop.run(150 * MICROSECOND)
    second = observer.look()
    assert (second.interval_ps, second.port("leaf0-eth2").sent_bytes) == (50 * MICROSECOND, 0)


def test_queue_and_watermark() -> None:
    fabric = Fabric(qos={})
    observer = observer_of(fabric)
    for source in (0, 2, 3):
        fabric.send(source, 1, 20)
    fabric.loop.run(10 * MICROSECOND)
    congested = observer.look().port("leaf0-eth2").queues[0]
    assert 0 < congested.queue_bytes <= congested.watermark_bytes
    assert congested.ingress_bytes == 0  # it is the other ports' frames that wait here
    fabric.loop.run(100 * MICROSECOND)
    drained = observer.look().port("leaf0-eth2").queues[0]
    assert (drained.queue_bytes, drained.watermark_bytes >= congested.queue_bytes) == (0, True)
    fabric.loop.run(110 * MICROSECOND)
    assert observer.look().port("leaf0-eth2").queues[0].watermark_bytes == 0


def test_bytes_that_came_in_and_wait_are_shown_where_they_came_in() -> None:
    fabric = Fabric(qos={})
    observer = observer_of(fabric)
    for source in (0, 2):
        fabric.send(source, 1, 20)
    fabric.loop.run(5 * MICROSECOND)
    seen = observer.look()
    held = [seen.port(f"leaf0-eth{number}").queues[0].ingress_bytes for number in (1, 3)]
    assert sum(held) >= seen.port("leaf0-eth2").queues[0].queue_bytes > 0


def test_drops_by_reason() -> None:
    fabric = Fabric(switch={"buffer": "32KiB"})
    observer = observer_of(fabric)
    for source in (0, 2, 3):
        fabric.send(source, 1, 20)
    fabric.loop.run(100 * MICROSECOND)
    port = observer.look().port("leaf0-eth2")
    assert port.dropped == {"shared_full": len(fabric.drops)}
    assert port.queues[0].dropped_packets == len(fabric.drops) > 0
    assert observer.look().port("leaf0-eth2").dropped == {}


def test_without_classes_the_one_queue_is_each_prioritys() -> None:
    fabric = Fabric()
    observer = observer_of(fabric)
    for source in (0, 2, 3):
        fabric.send(source, 1, 20)
    fabric.loop.run(10 * MICROSECOND)
    queues = observer.look().port("leaf0-eth2").queues
    assert len(queues) == 8
    assert len({(queue.queue_bytes, queue.watermark_bytes) for queue in queues}) == 1
    assert queues[3].queue_bytes == queues[3].watermark_bytes > 0


def test_thresholds_that_are_in_force() -> None:
    fabric = Fabric(qos={"ecn": {"3": {"kmin": "10KB", "kmax": "20KB", "pmax": 0.5}}})
    queue = observer_of(fabric).look().port("leaf0-eth2").queues[3]
    assert (queue.kmin_bytes, queue.kmax_bytes, queue.pmax) == (10_000, 20_000, 0.5)


def test_pauses_are_seen_at_both_ends() -> None:
    fabric = Fabric(qos={"pfc": {}, "lossless": [0], "ingress_alpha": 0.01}, switch={"buffer": "4MiB"})
    observer = observer_of(fabric)
    for source in (0, 2, 3):
        fabric.send(source, 1, 200)
    fabric.loop.run(30 * MICROSECOND)
    seen = observer.look()
    spreading, victim = seen.port("leaf0-eth1").queues[0], seen.port("leaf0-eth2").queues[0]
    assert spreading.lossless
    assert spreading.tx_pause_frames > 0
    assert 0 < spreading.tx_pause_ps <= 30 * MICROSECOND
    assert (spreading.rx_pause_frames, victim.tx_pause_frames) == (0, 0)


# --- flows -----------------------------------------------------------------------------------------------------------


def udp(source: int, port: int, size: int, version: int = 4) -> Frame:
    if version == 4:
        head = b"\x08\x00\x45" + bytes(8) + b"\x11" + bytes(2) + bytes([10, 0, 0, source, 10, 1, 0, 1])
    else:
        head = b"\x86\xdd\x60" + bytes(5) + b"\x11\x40" + bytes(15) + bytes([source]) + bytes(15) + b"\x01"
    data = bytes(12) + head + port.to_bytes(2, "big")
    return Frame(data + bytes(size - len(data)))


def test_flows_are_told_apart_and_listed_by_size() -> None:
    loop = EventLoop()
    frames = [udp(1, 5, 100), udp(2, 5, 1000), udp(1, 6, 300), udp(1, 5, 100), udp(3, 7, 200, version=6)]
    frames.append(Frame(bytes(12) + b"\x88\x08" + bytes(50)))
    transmitter = Transmitter(loop, "leaf0-eth1", RATE_BPS, 0)
    transmitter.connect(ListSource(*frames), Arrivals(loop))
    noted: list[int] = []
    transmitter.on_sent = lambda now, _frame: noted.append(now)
    counter = FlowCounter.on(transmitter)
    transmitter.kick()
    loop.run()
    assert counter.take() == (
        FlowTelemetry("10.0.0.2", "10.1.0.1", 5, 1024),
        FlowTelemetry("10.0.0.1", "10.1.0.1", 6, 324),
        FlowTelemetry("10.0.0.1", "10.1.0.1", 5, 248),
        FlowTelemetry("::3", "::1", 7, 224),
    )
    assert counter.take() == ()
    assert len(noted) == 6  # who listened before goes on


def test_the_factor_of_a_lossless_priority_s_threshold_is_the_scenario_s_until_an_action_sets_it() -> None:
    fabric = Fabric(qos={"pfc": {}, "ingress_alpha": 2, "lossless": [3]})
    actions = EngineActions(fabric.model, {})
    observer = Observer(fabric.plan, fabric.model, actions.ramps, actions.alphas, flows=False)
    actions.apply(SetPfc("leaf0-eth1", 3, 4.0))
    seen = observer.look()
    assert [seen.port(f"leaf0-eth{number}").queues[3].ingress_alpha for number in (1, 2)] == [4.0, 2.0]
    assert seen.port("leaf0-eth1").queues[0].ingress_alpha is None
