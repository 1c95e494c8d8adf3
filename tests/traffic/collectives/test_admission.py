"""Receiver-driven admission: the gate's order and limit, and what it does to an incast."""

from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from testbed.measurement.pauses import pause_report
from testbed.scenario.model import Flows, Work
from tests.traffic.collectives.kit import Bench, star
from tests.traffic.collectives.test_collectives import collective
from traffic.collectives.admission import Gate
from traffic.results import FlowResult

_WORK: TypeAdapter[Work] = TypeAdapter(Work)


class Asked:
    """A connection that notes what it is given."""

    def __init__(self) -> None:
        self.given: list[tuple[int, int]] = []
        self.arrived = 0

    def give(self, step: int, piece: int) -> None:
        self.given.append((step, piece))


def test_no_more_than_the_limit_is_outstanding() -> None:
    gate, connection = Gate(2), Asked()
    for piece in range(4):
        gate.expect("flow", connection, 0, piece)
    gate.clear()
    assert connection.given == [(0, 0), (0, 1)]
    gate.arrived(connection)
    assert connection.given == [(0, 0), (0, 1), (0, 2)]
    assert gate.peak == 2


def test_lanes_take_turns() -> None:
    gate, flows = Gate(1), [Asked(), Asked(), Asked()]
    for number, flow in enumerate(flows):
        for piece in range(3 - number):
            gate.expect(number, flow, 0, piece)
    order = []
    gate.clear()
    for _ in range(6):
        (turn,) = [number for number, flow in enumerate(flows) if flow.given]
        order.append(turn)
        flows[turn].given.clear()
        gate.arrived(flows[turn])
    assert order == [0, 1, 2, 0, 1, 0]


def test_a_failed_connection_gives_its_place_up() -> None:
    gate, failed, other = Gate(1), Asked(), Asked()
    gate.expect("a", failed, 0, 0)
    gate.clear()
    gate.expect("a", failed, 0, 1)
    gate.expect("b", other, 0, 0)
    gate.forget(failed)
    assert (failed.given, other.given) == ([(0, 0)], [(0, 0)])


@given(limit=st.integers(1, 5), sizes=st.lists(st.integers(1, 10), min_size=1, max_size=6))
def test_everything_is_cleared_once(limit: int, sizes: list[int]) -> None:
    gate, flows = Gate(limit), [Asked() for _ in sizes]
    for number, size in enumerate(sizes):
        for piece in range(size):
            gate.expect(number, flows[number], 0, piece)
    gate.clear()
    arrived = 0
    while arrived < sum(sizes):
        under_way = sum(len(flow.given) for flow in flows) - arrived
        assert 0 < under_way <= limit
        turn = next(number for number, flow in enumerate(flows) if len(flow.given) > flow.arrived)
        flows[turn].arrived += 1
        arrived += 1
        gate.arrived(flows[turn])
    assert [flow.given for flow in flows] == [[(0, piece) for piece in range(size)] for size in sizes]


# --- an incast -------------------------------------------------------------------------------------------------------

LOSSLESS = {"qos": {"pfc": {}}, "switch": {"buffer": "4MiB"}}
ADMISSION = {"outstanding": 4, "chunk": "64KiB"}


def incast(senders: int, **options: object) -> Flows:
    flows = [{"source": f"h{number}", "destination": "h0", "size": "1MiB"} for number in range(1, senders + 1)]
    return Flows.model_validate({"kind": "flows", "flows": flows, **options})


def pauses(bench: Bench) -> int:
    """How many pauses all switches have caused."""
    report = pause_report(bench.fabric)
    assert report is not None
    return len(report.pauses)


def test_an_incast_of_flows_pauses_nobody_when_it_is_admitted() -> None:
    free = Bench(star(17, **LOSSLESS), incast(16))
    admitted = Bench(star(17, **LOSSLESS), incast(16, admission=ADMISSION))
    free.run()
    admitted.run()
    assert pauses(free) > 0
    assert pauses(admitted) == 0
    peak = {bench: bench.fabric.ports["leaf0-eth1"].queue.peak_bytes for bench in (free, admitted)}
    assert peak[admitted] < 4 * 64 * 1024 * 1.1 < peak[free]
    results = [job.result() for job in admitted.jobs]
    assert all(result.verified for result in results)
    # The receiver's link stays busy: what waits for leave is ready when it comes.
    assert admitted.loop.now < 1.03 * free.loop.now
    for result in results:
        assert isinstance(result, FlowResult)
        assert result.admission is not None
        assert (result.admission.sent, result.admission.received) == (16, 16)
        assert result.admission.peak_outstanding == 4
        assert result.admission.wait_ps > 0
    sent = admitted.total("sent_data_packets") - admitted.total("retransmitted_packets")
    assert sent == sum(job.data_packets for job in admitted.jobs)


def test_an_admitted_incast_is_fair() -> None:
    bench = Bench(star(17, **LOSSLESS), incast(16, admission=ADMISSION))
    bench.run()
    ends = [job.result().end_ps for job in bench.jobs]
    assert min(ends) > 0.9 * max(ends)


def test_an_incast_of_a_collective_pauses_nobody_when_it_is_admitted() -> None:
    """Everyone has most of its data for one rank."""
    ranks = 17
    matrix = [["1MiB" if to == 0 != of else "0B" for to in range(ranks)] for of in range(ranks)]
    benches = {}
    for name, admission in (("free", None), ("admitted", ADMISSION)):
        work = _WORK.validate_python({"kind": "all-to-all-v", "matrix": matrix, "admission": admission})
        bench = benches[name] = Bench(star(ranks, **LOSSLESS), work)
        assert bench.collective().verified
    assert pauses(benches["free"]) > 0
    assert pauses(benches["admitted"]) == 0


def test_a_message_waits_for_its_clear_to_send() -> None:
    result = Bench(star(3), collective("all-to-all", 3 * 2**16, admission={"outstanding": 1})).collective()
    data = [message for message in result.messages if not message.control]
    clears = [message for message in result.messages if message.control]
    assert len(data) == len(clears) == 6
    assert all(message.size_bytes == 64 for message in clears)
    for message in data:
        (clear,) = [c for c in clears if (c.source, c.destination, c.step, c.piece) == (
            message.destination, message.source, message.step, message.piece)]  # fmt: skip
        assert message.granted_ps == clear.arrived_ps
        assert clear.arrived_ps is not None
        assert message.posted_ps < clear.arrived_ps
    for rank in result.ranks:  # one after the other
        first, second = sorted((m for m in data if m.destination == rank), key=lambda m: m.arrived_ps or 0)
        assert first.arrived_ps is not None
        assert second.granted_ps is not None
        assert first.arrived_ps < second.granted_ps
    assert result.admission is not None
    assert (result.admission.sent, result.admission.peak_outstanding) == (6, 1)
    assert result.admission.wait_ps == sum((m.granted_ps or 0) - m.posted_ps for m in data)


def test_clear_to_sends_have_a_class_of_their_own() -> None:
    work = collective("all-reduce", admission={"traffic_class": 224})
    bench = Bench(star(3, qos={}), work)
    bench.run()
    classes = {qp.settings.traffic_class for nic in bench.nics.values() for qp in nic.queue_pairs.values()}
    assert classes == {106, 224}


def test_a_flow_that_fails_leaves_the_others_their_turns() -> None:
    bench = Bench(star(4), incast(3, admission={"outstanding": 1, "chunk": "16KiB"}), timeout=4, retry_count=0)
    bench.lose("h2-eth0", lambda _number: True)
    bench.run()
    assert [job.result().failure is None for job in bench.jobs] == [True, False, True]
