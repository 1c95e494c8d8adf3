"""NICs and switches together, on lossless priorities: what congestion control is for."""

from typing import Any

from testbed.scenario.model import Flows
from testbed.units import MICROSECOND
from tests.traffic.collectives.kit import Bench, star

SENDERS = 4
HEADERS = 4170 + 24
QOS = {"ecn": {"3": {"kmin": "50KB", "kmax": "200KB", "pmax": 0.2}}, "pfc": {}, "ingress_alpha": 0.0078125}


def incast(**transport: Any) -> Bench:
    """Return four senders of 1 MiB to one receiver, after it has run."""
    flows = [{"source": f"h{number}", "destination": "h0", "size": "1MiB"} for number in range(1, SENDERS + 1)]
    work = Flows.model_validate({"kind": "flows", "flows": flows})
    bench = Bench(star(SENDERS + 1, qos=QOS), work, **transport)
    bench.run()
    assert all(job.result().verified for job in bench.jobs)
    assert bench.drops == []
    assert bench.total("retransmitted_packets") == 0
    return bench


def pauses(bench: Bench) -> int:
    """Return the pause frames that the switch sent, to senders."""
    return sum(wire.sent_control_frames for wire in bench.fabric.transmitters.values())


def test_pauses_alone_lose_nothing_and_keep_the_bottleneck_busy() -> None:
    bench = incast()
    assert pauses(bench) > 0
    ends = [job.result().end_ps for job in bench.jobs]
    packets = SENDERS * 2**20 // 4096
    assert max(ends) < packets * HEADERS * 80 + 20 * MICROSECOND


def test_dcqcn_needs_fewer_pauses() -> None:
    paused = pauses(incast())
    bench = incast(congestion={"kind": "dcqcn", "preset": "hpcc"})
    assert pauses(bench) < paused
    assert bench.total("np_cnp_sent") == bench.total("rp_cnp_handled") > 0


def test_every_congestion_control_reports_each_sender() -> None:
    for kind, first in (("dcqcn", "rate_bps"), ("dctcp", "window_bytes")):
        bench = incast(congestion={"kind": kind})
        found = [each for nic in bench.nics.values() for each in nic.congestion_statistics()]
        senders = [each for each in found if each.nic != "h0-eth0"]
        assert len(found) == 2 * SENDERS  # a QP at each end; the receiver's sends nothing
        assert [next(iter(each.values)) for each in senders] == [first] * SENDERS
        assert all(each.minimum < each.values[first] for each in senders if kind == "dcqcn")
