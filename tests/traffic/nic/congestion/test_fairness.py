"""Two QPs through one marking bottleneck come to share it, whichever of them was there first."""

from random import Random
from typing import Any, Protocol

import pytest

from testbed.engine.frame import Frame
from testbed.scenario.model import Flows
from testbed.units import MILLISECOND, parse_size
from tests.traffic.collectives.kit import Bench, star
from tests.traffic.nic.pair import mark_ce

RATE_GBPS = 10
START_PS = 2 * MILLISECOND
"""When the second flow comes."""


class Queue(Protocol):
    """What a marker looks at: the bytes that wait."""

    bytes: int


class RedMarker:
    """Marks data frames that leave a queue: none below `kmin` bytes in it, all above `kmax`, with a ramp up to `pmax`
    between. Drops nothing."""

    def __init__(self, queue: Queue, kmin: int, kmax: int, pmax: float) -> None:
        self._queue = queue
        self._kmin, self._kmax, self._pmax = kmin, kmax, pmax
        self._random = Random(1)
        self.marked = 0

    def on_departure(self, frame: Frame, now: int) -> str | None:  # noqa: ARG002 - an impairment's signature
        above = (self._queue.bytes - self._kmin) / (self._kmax - self._kmin)
        if frame.is_data and above > 0 and (above > 1 or self._random.random() < above * self._pmax):
            frame.data = mark_ce(frame.data)
            self.marked += 1
        return None

    def lost_in_flight(self, departed_ps: int, arrived_ps: int) -> str | None:  # noqa: ARG002
        return None


def two_to_one(size: str, kmin: str, kmax: str, pmax: float, **transport: Any) -> tuple[Bench, RedMarker]:
    """Return flows of `size` from h0 (at 0) and h1 (at START_PS) to h2, and the marker of the port they share."""
    flows = Flows.model_validate(
        {
            "kind": "flows",
            "verify": False,
            "flows": [
                {"source": "h0", "destination": "h2", "size": size},
                {"source": "h1", "destination": "h2", "size": size, "start": f"{START_PS}ps"},
            ],
        }
    )
    fabric = star(3, link={"rate": f"{RATE_GBPS}Gbps", "delay": "500ns"})
    bench = Bench(fabric, flows, mtu=4096, **transport)
    port = next(port for port in bench.fabric.ports.values() if bench.plan.far_end(port.name).node == "h2")
    marker = RedMarker(port.queue, parse_size(kmin), parse_size(kmax), pmax)
    bench.fabric.transmitters[port.name].impair(marker)
    return bench, marker


def acknowledged(bench: Bench) -> list[int]:
    """Return the packets of each flow that have been acknowledged."""
    return [
        next(iter(bench.nics[f"{host}-eth0"].queue_pairs.values())).requester.unacknowledged for host in ("h0", "h1")
    ]


def shares(bench: Bench, from_ps: int, to_ps: int) -> tuple[float, float]:
    """Run, and return each flow's part of the bottleneck between two times."""
    bench.loop.run(until_ps=from_ps)
    before = acknowledged(bench)
    bench.loop.run(until_ps=to_ps)
    packet_bits = (4096 + 58 + 24) * 8
    whole = RATE_GBPS * (to_ps - from_ps) / 1000
    first, second = ((b - a) * packet_bits / whole for a, b in zip(before, acknowledged(bench), strict=True))
    return first, second


def test_dcqcn_converges_to_fair_shares() -> None:
    """The paper's parameters and marking, R_AI in proportion to the rate."""
    congestion = {"kind": "dcqcn", "additive": "10Mbps", "hyper": "50Mbps"}
    bench, marker = two_to_one("60MB", "5kB", "200kB", 0.01, congestion=congestion)
    first, second = shares(bench, 40 * MILLISECOND, 70 * MILLISECOND)
    assert first == pytest.approx(0.5, abs=0.07)
    assert second == pytest.approx(0.5, abs=0.07)
    assert first + second > 0.9
    bench.run()
    assert bench.drops == []
    assert bench.total("np_ecn_marked_roce_packets") == marker.marked > 0
    assert bench.total("np_cnp_sent") == bench.total("rp_cnp_handled") > 0
    assert bench.total("rp_cnp_ignored") == bench.total("retransmitted_packets") == 0


def test_without_congestion_control_the_queue_only_grows() -> None:
    """The same two flows: shares are equal too, but it is the switch's memory that holds what is too much."""
    bench, _ = two_to_one("20MB", "5kB", "200kB", 0.01)
    first, second = shares(bench, 3 * MILLISECOND, 10 * MILLISECOND)
    assert first + second == pytest.approx(1, abs=0.02)
    held = max(port.queue.peak_bytes for port in bench.fabric.ports.values())
    bench, _ = two_to_one("20MB", "5kB", "200kB", 0.01, congestion={"kind": "dcqcn"})
    bench.run()
    assert max(port.queue.peak_bytes for port in bench.fabric.ports.values()) < held / 2


def test_dctcp_converges_to_fair_shares() -> None:
    bench, marker = two_to_one("40MB", "60kB", "61kB", 1.0, congestion={"kind": "dctcp"}, ack_every=2)
    first, second = shares(bench, 20 * MILLISECOND, 40 * MILLISECOND)
    assert first == pytest.approx(0.5, abs=0.07)
    assert second == pytest.approx(0.5, abs=0.07)
    assert first + second > 0.95
    peak = max(port.queue.peak_bytes for port in bench.fabric.ports.values())
    bench.run()
    assert marker.marked == bench.total("np_ecn_marked_roce_packets") > 0
    assert bench.total("np_cnp_sent") == 0
    assert peak < 300_000
