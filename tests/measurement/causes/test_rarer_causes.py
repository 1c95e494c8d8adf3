"""One cause each, as in test_one_cause: those that it takes more to bring about."""

from typing import Any

from testbed.engine.frame import Frame
from testbed.fabric.plan import FabricPlan
from testbed.measurement.causes import model
from testbed.units import MICROSECOND
from tests.measurement.causes.kit import Explained, flow, flows, star
from tests.traffic.collectives.kit import PlannedForwarder

LEAF_SPINE: dict[str, Any] = {
    "topology": {"kind": "leaf-spine", "leaves": 3, "spines": 1, "hosts_per_leaf": 2},
    "link": {"rate": "100Gbps", "delay": "500ns"},
}


def test_a_pause_whose_root_is_two_switches_away() -> None:
    """h1's packets to h4 share one link with what stands before h2, which pauses its leaf, and that the spine, and that
    the first leaf: neither the spine's other ports nor the third leaf have anything to do with it."""
    run = Explained(
        fabric={**LEAF_SPINE, "qos": {"pfc": {}}, "switch": {"buffer": "1MiB"}},
        transport={"timeout": 16},
        workload=flows(flow("h0", "h2", "4MiB"), flow("h1", "h4", "4MiB")),
        faults=[{"kind": "pause-storm", "port": "h2-eth0", "at": "5us", "until": "5ms"}],
    )
    victim = run.explanation.stalls[1]
    part = victim.parts[0]
    cause = run.explanation.causes[part.cause]
    assert run.fabric.flow_control is not None
    paused_ps = run.fabric.flow_control.receivers["leaf0-eth3"].duration_ps(3)
    assert 0.99 * paused_ps < part.duration_ps <= paused_ps
    assert part.duration_ps > 0.9 * victim.stall_ps
    assert (cause.kind, cause.where, cause.origin) == (model.PAUSED, "leaf0-eth3", "h2-eth0")
    assert cause.detail == "paused by spine0-eth1, which was held up by h2-eth0 (a pause storm)"


def test_a_timeout_that_comes_before_the_acknowledgement() -> None:
    """4.096 us * 2^4 are less than the 80 us of the way there and back: nothing was lost, and all is sent twice."""
    run = Explained(
        fabric=star(2, link={"rate": "100Gbps", "delay": "20us"}),
        transport={"timeout": 4},
        workload=flows(flow("h0", "h1", "1MiB")),
    )
    main = run.main()
    assert (main.kind, main.where) == (model.LATE_ACK, "h0-eth0")
    assert main.packet is not None
    assert (main.packet.found_by, main.packet.lost_ps) == ("timeout", None)
    assert run.drops == ()


class Straying(PlannedForwarder):
    """A forwarder of a leaf with one host, whose ports 2 and 3 lead to spines: it sends all by the first, but the 20th
    data packet by the second."""

    def __init__(self, plan: FabricPlan, switch: str) -> None:
        super().__init__(plan, switch)
        self._is_leaf = switch.startswith("leaf")
        self._data = 0

    def submit(self, in_port: int, frame: Frame) -> None:
        super().submit(in_port, frame)
        self._data += frame.is_data
        if self._is_leaf and frame.answer > 1:
            frame.answer = 3 if frame.is_data and self._data == 20 else 2


def test_a_packet_that_others_overtake() -> None:
    """It goes through a spine that takes 5 us longer than the other; none is lost, but the receiver sees a gap, and,
    when that packet comes at last, the next one: of what had overtaken it, it kept nothing."""

    def slow(run: Explained) -> None:
        run.fabric.switches["spine1"].latency_ps += 5 * MICROSECOND

    run = Explained(
        fabric={**LEAF_SPINE, "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 1}},
        forwarder=Straying,
        prepare=slow,
        workload=flows(flow("h0", "h1", "256KiB")),
    )
    assert run.drops == ()
    main = run.main()
    assert (main.kind, main.where) == (model.OUT_OF_ORDER, "h0-eth0")
    packets = [cause.packet for cause in run.costs() if cause.packet is not None]
    assert {packet.psn for packet in packets} <= {19, 20}
    assert {(packet.found_by, packet.lost_ps) for packet in packets} == {("nak", None)}


def test_a_receive_that_is_posted_late() -> None:
    """h1 has none for the last packet's immediate for 300 us; each RNR NAK makes h0 wait for 10 us and try again."""

    def take_away(run: Explained) -> None:
        (qp,) = run.nics["h1-eth0"].queue_pairs.values()
        receives = qp.responder._receives
        taken = list(receives)
        receives.clear()
        run.loop.at(300 * MICROSECOND, receives.extend, taken)

    run = Explained(
        fabric=star(2), prepare=take_away, transport={"rnr_timer": 1}, workload=flows(flow("h0", "h1", "64KiB"))
    )
    main = run.main(at_least=0.999)
    assert (main.kind, main.where) == (model.RECEIVER_NOT_READY, "h0-eth0")
    assert main.packet is not None
    assert (main.packet.psn, main.packet.found_by, main.packet.lost_ps) == (15, "rnr_nak", None)
    assert run.explanation.stalls[0].stall_ps > 290 * MICROSECOND


def test_an_nvlink_domain_that_two_jobs_share() -> None:
    ranks = {"count": 4, "per_host": 4}
    run = Explained(
        fabric=star(2, nvlink={}),
        workload=[{"kind": kind, "size": "4MiB", "ranks": ranks} for kind in ("all-reduce", "broadcast")],
    )
    assert {cause.kind for cause in run.costs()} == {model.NVLINK}
    assert {cause.detail for cause in run.costs()} <= {f"h0.{n} to h0.{(n + 1) % 4}" for n in range(4)}


def test_a_controller_that_holds_frames() -> None:
    """Every frame takes 5 us longer through the switch than it says, as one does that a controller must look at."""

    def hold(run: Explained) -> None:
        run.fabric.switches["leaf0"].latency_ps += 5 * MICROSECOND

    run = Explained(fabric=star(2), prepare=hold, workload=flows(flow("h0", "h1", "64KiB")))
    assert run.main(at_least=1).kind == model.CONTROLLER
    assert run.explanation.stalls[0].stall_ps == 5 * MICROSECOND


def test_a_collective_that_fails() -> None:
    """h1's link goes down and stays down: all that the ranks waited for then never came, and that is what they say."""
    run = Explained(
        fabric=star(4),
        transport={"timeout": 4, "retry_count": 1},
        workload=[{"kind": "all-reduce", "size": "1MiB"}],
        faults=[{"kind": "link-down", "link": "h1-leaf0", "at": "10us"}],
    )
    main = run.main()
    assert main.kind == model.FAILURE
    assert main.detail == run.results[0].failure


def test_a_straggler_is_followed_to_what_made_it_one() -> None:
    """h1 computes no longer than the others. It is late since another flow is in the way of what h0 sends it; what it
    sends then is in nobody's way, and still h2 and h3 are late for that queue."""
    run = Explained(
        fabric=star(5),
        workload=[
            {"kind": "all-reduce", "size": "1MiB", "ranks": {"count": 4}},
            *flows(flow("h4", "h1", "1MiB")),
        ],
    )
    stalls = {stall.rank: stall for stall in run.explanation.stalls if stall.collective is not None}
    for rank, stall in stalls.items():
        cause = run.explanation.causes[stall.parts[0].cause]
        assert (cause.kind, cause.where, cause.detail) == (model.QUEUE, "leaf0-eth2", "behind h4 to h1"), rank
        assert stall.parts[0].duration_ps > 0.95 * stall.stall_ps > 0
