import pytest

from testbed.engine.loop import EventLoop
from testbed.fabric.build import build_plan
from testbed.scenario.model import FabricOptions, TransportOptions
from traffic.collectives.contention_free import IdealFabric, PathTiming, path_timing, transfer_time_ps
from traffic.collectives.process import Process

G100 = 100_000_000_000
PACKET = 14 + 20 + 8 + 12 + 4096 + 4 + 24  # on the wire
PS_PER_BYTE = 80


def test_one_link() -> None:
    timing = PathTiming(((G100, 500_000),), ())
    time = transfer_time_ps([3 * 4096], timing, TransportOptions(), 4)
    assert time == (3 * PACKET + 16 + 4) * PS_PER_BYTE + 500_000


def test_store_and_forward_costs_the_largest_packet_once_more() -> None:
    # The last bit leaves link 2 at max over k of (packets 1..k on link 1, then k..n on link 2): all, and the largest.
    timing = PathTiming(((G100, 500_000),) * 2, (800_000,))
    time = transfer_time_ps([3 * 4096], timing, TransportOptions(), 4)
    assert time == (3 * PACKET + 16 + 4 + PACKET + 16) * PS_PER_BYTE + 2 * 500_000 + 800_000


def test_slowest_link_is_the_bottleneck() -> None:
    timing = PathTiming(((G100, 0), (G100 // 10, 0), (G100, 0)), (1000, 1000))
    time = transfer_time_ps([100 * 4096], timing, TransportOptions(), 4)
    first = (PACKET + 16) * PS_PER_BYTE
    bottleneck = (100 * PACKET + 16 + 4) * PS_PER_BYTE * 10
    last = (PACKET + 4) * PS_PER_BYTE
    assert time == first + 1000 + bottleneck + 1000 + last


def test_ipv6_is_20_bytes_longer_a_packet() -> None:
    timing = PathTiming(((G100, 0),), ())
    times = [transfer_time_ps([10 * 4096], timing, TransportOptions(), version) for version in (4, 6)]
    assert times[1] - times[0] == 10 * 20 * PS_PER_BYTE


def test_an_empty_or_tiny_frame_is_padded_like_ethernet() -> None:
    # An empty WRITE_ONLY with immediate: 14 + 20 + 8 + 12 + 16 + 4 + 4 = 78 B, above Ethernet's 60; + 24 on the wire.
    timing = PathTiming(((G100, 0),), ())
    assert transfer_time_ps([0], timing, TransportOptions(), 4) == (78 + 24) * PS_PER_BYTE


def test_links_and_switches_must_match() -> None:
    with pytest.raises(ValueError, match="expected 1 switches between links, found 0"):
        PathTiming(((G100, 0), (G100, 0)), ())


def test_path_of_a_plan() -> None:
    plan = build_plan(
        FabricOptions.model_validate(
            {
                "topology": {"kind": "dumbbell", "left": 1, "right": 1, "core": {"rate": "40Gbps", "delay": "3us"}},
                "switch": {"latency": "700ns"},
            }
        )
    )
    timing = path_timing(plan, plan.nics[0].name, plan.nics[1].name)
    assert timing.links == ((G100, 500_000), (40 * 10**9, 3_000_000), (G100, 500_000))
    assert timing.latencies == (700_000, 700_000)


def _arrivals(queue_pairs: int, sizes: list[int]) -> list[int]:
    """Send messages of `sizes` packets from rank 0 to rank 1, all at time 0; return when each has arrived."""
    loop = EventLoop()
    timing = PathTiming(((G100, 0),), ())
    settings = TransportOptions(qps_per_connection=queue_pairs)
    sender, receiver = IdealFabric(loop, 2, {(0, 1): timing}, settings, 4).endpoints
    arrivals = [0] * len(sizes)

    async def send() -> None:
        for number, packets in enumerate(sizes):
            sender.send(1, 0, number, source_offset=0, target_offset=0, size_bytes=packets * 4096)

    async def receive(number: int) -> None:
        await receiver.receive(0, 0, number)
        arrivals[number] = receiver.now

    async def receive_all() -> None:
        for number in range(len(sizes)):
            await receive(number)

    for program in (send(), receive_all()):
        Process(loop, "h", program, lambda: None).start()
    loop.run()
    return arrivals


def test_one_queue_pair_sends_messages_one_after_another() -> None:
    first, second = _arrivals(1, [4, 4])
    assert first == (4 * PACKET + 20) * PS_PER_BYTE
    assert second == 2 * first


def test_queue_pairs_take_turns() -> None:
    first, second = _arrivals(2, [4, 4])
    # Packets go 1, 1 2 1 2 1 2, 2: the first has the wire, and the second its turn, before message 2 is posted.
    assert first == (6 * PACKET + 16 + 16 + 4) * PS_PER_BYTE
    assert second == (8 * PACKET + 2 * 20) * PS_PER_BYTE
