"""The ideal fabric: what a message takes on it, and that no run of the modelled fabric is ever faster."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.engine.loop import EventLoop
from testbed.scenario.collectives import AllReduce
from testbed.scenario.model import Flows, TransportOptions
from tests.traffic.collectives.kit import Bench, ring, star
from traffic.collectives.algorithm import Connection
from traffic.collectives.contention_free import IdealFabric, RdmaPath, transfer_time_ps
from traffic.collectives.ideal_path import PathTiming, TierTiming
from traffic.collectives.process import Process
from traffic.results import CollectiveResult, FlowResult

G100 = 100_000_000_000
PACKET = 14 + 20 + 8 + 12 + 4096 + 4 + 24  # on the wire
PS_PER_BYTE = 80
WIRE: PathTiming = (TierTiming((G100,), 500_000),)


def test_one_link() -> None:
    time = transfer_time_ps([3 * 4096], WIRE, TransportOptions(), 4)
    assert time == (3 * PACKET + 16 + 4) * PS_PER_BYTE + 500_000


def test_several_messages() -> None:
    time = transfer_time_ps([3 * 4096] * 5, WIRE, TransportOptions(qps_per_connection=2), 4)
    assert time == 5 * (3 * PACKET + 16 + 4) * PS_PER_BYTE + 500_000


def test_ipv6_is_20_bytes_longer_a_packet() -> None:
    times = [transfer_time_ps([10 * 4096], WIRE, TransportOptions(), version) for version in (4, 6)]
    assert times[1] - times[0] == 10 * 20 * PS_PER_BYTE


@pytest.mark.parametrize("queue_pairs", [1, 2])
def test_messages_between_endpoints(queue_pairs: int) -> None:
    loop = EventLoop()
    settings = TransportOptions(qps_per_connection=queue_pairs)
    path = RdmaPath(WIRE, ("h0-eth0", "h1-eth0"), settings, 4, "round-robin")
    sender, receiver = IdealFabric(loop, 2, {Connection(0, 1): path}).endpoints
    arrived: list[int] = []

    async def send() -> None:
        for number in range(2):
            sender.send(1, 0, number, source_offset=0, target_offset=0, size_bytes=4 * 4096)
        await sender.sleep(10**9, "a while")
        sender.send(1, 1, 0, source_offset=0, target_offset=0, size_bytes=4 * 4096)

    async def receive() -> None:
        for step, number in ((0, 0), (0, 1), (1, 0)):
            await receiver.receive(0, step, number)
            arrived.append(receiver.now)

    for program in (send(), receive()):
        Process(loop, "h", program, lambda: None).start()
    loop.run()
    wire = (4 * PACKET + 20) * PS_PER_BYTE
    assert arrived == [wire + 500_000, 2 * wire + 500_000, 10**9 + wire + 500_000]


# --- a lower bound ----------------------------------------------------------------------------------------------------


def slow_uplinks(spines: int, **options: object) -> dict[str, object]:
    topology = {"kind": "leaf-spine", "leaves": 2, "spines": spines, "hosts_per_leaf": 1, "uplink": {"rate": "25Gbps"}}
    return {"topology": topology, **options}


def test_queue_pairs_spread_over_spines_are_no_faster_than_ideal() -> None:
    """Uplinks of 25 Gb/s, hosts of 100 Gb/s: with several QPs a connection has more than one of the four uplinks."""
    work = ring(2**21, chunk="64KiB")
    one, spread = (Bench(slow_uplinks(4), work, qps_per_connection=count).collective() for count in (1, 16))
    assert one.time_ps is not None
    assert spread.time_ps is not None
    assert one.ideal_ps <= one.time_ps < 1.01 * one.ideal_ps
    assert 3.5 * spread.ideal_ps < one.ideal_ps < 4.5 * spread.ideal_ps
    # ECMP's hash puts several QPs on one spine: that is contention, and it shows as stall.
    assert spread.ideal_ps < spread.time_ps < one.ideal_ps
    assert min(spread.stall_ps_by_rank.values()) > 0


_rates = st.sampled_from(["10Gbps", "25Gbps", "40Gbps", "100Gbps", "333Gbps"])
_spread = st.builds(
    lambda leaves, spines, hosts, uplink: {
        "kind": "leaf-spine",
        "leaves": leaves,
        "spines": spines,
        "hosts_per_leaf": hosts,
        "uplink": {"rate": uplink},
    },
    st.integers(2, 3),
    st.integers(1, 4),
    st.integers(1, 2),
    _rates,
)
_tree = st.builds(lambda up, core: {"kind": "fat-tree", "k": 4, "aggregation": {"rate": up}, "core": {"rate": core}},
                  _rates, _rates)  # fmt: skip
_star = st.builds(lambda hosts: {"kind": "single-switch", "hosts": hosts}, st.integers(2, 4))
_fabrics = st.builds(
    lambda topology, rate, delay, ip: {"topology": topology, "link": {"rate": rate, "delay": delay}, "ip": ip},
    st.one_of(_spread, _spread, _tree, _star),
    _rates,
    st.sampled_from(["0ns", "500ns"]),
    st.sampled_from(["ipv4", "ipv6"]),
)
_transport = st.fixed_dictionaries(
    {
        "qps_per_connection": st.sampled_from([1, 2, 3, 4, 16]),
        "mtu": st.sampled_from([512, 4096]),
        "ack_every": st.sampled_from([1, 16, 4096]),
        "timeout": st.just(6),
    }
)
_rings = st.builds(
    lambda elements, chunk, iterations, compute: ring(
        4 * elements, iterations=iterations, compute=compute, verify=False, **({"chunk": chunk} if chunk else {})
    ),
    st.integers(1, 40_000),
    st.sampled_from([None, "4kB", "10004B"]),
    st.integers(1, 2),
    st.sampled_from(["0ps", "3us"]),
)
_flows = st.builds(
    lambda size: Flows.model_validate({"kind": "flows", "pattern": "ring", "size": f"{size}B", "verify": False}),
    st.integers(1, 150_000),
)


@given(
    _fabrics, st.one_of(_rings, _rings, _flows), _transport, st.integers(0, 99), st.sets(st.integers(0, 60), max_size=2)
)
@settings(max_examples=60, deadline=None)
def test_no_run_is_faster_than_ideal(
    fabric: dict[str, Any], work: AllReduce | Flows, transport: dict[str, Any], seed: int, lost: set[int]
) -> None:
    bench = Bench(fabric, work, seed=seed, **transport)
    bench.lose("h0-eth0", lost.__contains__)
    bench.run()
    for result in (job.result() for job in bench.jobs):
        assert result.time_ps is not None
        assert result.ideal_ps <= result.time_ps


@given(st.integers(1, 3), st.integers(1, 300_000), _rates, _rates, st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_a_flow_alone_takes_the_ideal_time(spines: int, size: int, rate: str, uplink: str, seed: int) -> None:
    topology = {"kind": "leaf-spine", "leaves": 2, "spines": spines, "hosts_per_leaf": 1, "uplink": {"rate": uplink}}
    flow = {"source": "h0", "destination": "h1", "size": f"{size}B"}
    work = Flows.model_validate({"kind": "flows", "flows": [flow], "verify": False})
    bench = Bench({"topology": topology, "link": {"rate": rate}}, work, seed=seed, qps_per_connection=4)
    bench.run()
    (result,) = (job.result() for job in bench.jobs)
    assert isinstance(result, FlowResult)
    assert result.time_ps == result.ideal_ps


def test_a_ring_in_one_direction_waits_for_nothing_but_acknowledgements() -> None:
    bench = Bench(star(4), ring(4 * 2**18), ack_every=4096)
    result = bench.collective()
    assert isinstance(result, CollectiveResult)
    assert result.time_ps is not None
    assert 0 <= result.time_ps - result.ideal_ps <= 6 * 86 * PS_PER_BYTE  # an ACK before each step's first packet
