"""The two rules of the ideal path, each in figures, and the tiers that a plan gives it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.fabric.build import build_plan
from testbed.scenario.model import FabricOptions
from traffic.collectives.ideal_path import IdealPath, Packets, TierTiming, path_timing

G100 = 100_000_000_000
PACKET = 14 + 20 + 8 + 12 + 4096 + 4 + 24  # on the wire
FIRST, LAST, ONLY = PACKET + 16, PACKET + 4, PACKET + 20
PS_PER_BYTE = 80

ONE_LINK = (TierTiming((G100,), 0),)


def link(*rates_gbps: int) -> TierTiming:
    return TierTiming(tuple(rate * 10**9 for rate in rates_gbps), 0, 0)


def message(packets: int) -> Packets:
    return Packets(packets * 4096, 4096, 4)


def arrivals(path: IdealPath, *posts: tuple[int, int]) -> list[int]:
    """Post messages given as (time, packets); return their arrivals."""
    return [path.arrival_ps(posted, message(packets)) for posted, packets in posts]


# --- one QP: the very time of a run without other traffic -------------------------------------------------------------


def test_messages_go_one_after_another() -> None:
    wire = (2 * PACKET + 20) * PS_PER_BYTE
    assert arrivals(IdealPath(ONE_LINK, 1), (0, 2), (0, 2), (10**9, 2)) == [wire, 2 * wire, 10**9 + wire]


def test_store_and_forward_costs_the_largest_packet_once_more() -> None:
    # The last bit leaves link 2 at max over k of (packets 1..k on link 1, then k..n on link 2): all, and the largest.
    path = IdealPath((TierTiming((G100,), 500_000), TierTiming((G100,), 500_000, 800_000)), 1)
    assert arrivals(path, (0, 3)) == [(3 * PACKET + 20 + FIRST) * PS_PER_BYTE + 2 * 500_000 + 800_000]


def test_one_queue_pair_uses_one_link_of_a_tier() -> None:
    path = IdealPath((link(100), link(25, 25, 25, 25), link(100)), 1)
    assert arrivals(path, (0, 100)) == [(FIRST + 4 * (100 * PACKET + 20) + LAST) * PS_PER_BYTE]


def test_the_fastest_link_of_a_tier_counts() -> None:
    slow, fast = (IdealPath((link(100), link(*rates)), 1) for rates in ((50,), (100, 50)))
    assert arrivals(fast, (0, 3)) == [(3 * PACKET + 20 + FIRST) * PS_PER_BYTE]
    assert arrivals(slow, (0, 3)) == [(FIRST + 2 * (3 * PACKET + 20)) * PS_PER_BYTE]


# --- several QPs: the tier's capacity, and each message still on one link ---------------------------------------------


def test_messages_on_several_queue_pairs_share_the_nics_link_in_order() -> None:
    one, several = (arrivals(IdealPath(ONE_LINK, count), (0, 4), (0, 4), (0, 1)) for count in (1, 3))
    assert several == one


def test_a_tier_carries_the_sum_of_its_links() -> None:
    # 4 messages at once over 4 QPs: each needs 4 times the wire's time on its own link, and so do all together.
    path = IdealPath((link(100), link(25, 25, 25, 25)), 4)
    found = arrivals(path, *[(0, 10)] * 4)
    alone = (FIRST + 4 * (10 * PACKET + 20)) * PS_PER_BYTE
    assert found[0] == alone
    # The NIC's link, all bits of it, and the smallest packet on the next link after them.
    assert found[3] == max(alone, (4 * (10 * PACKET + 20) + 4 * PACKET) * PS_PER_BYTE)


def test_no_more_links_than_queue_pairs() -> None:
    # Two of the four links: 50 Gb/s, so the tier is the bottleneck and the NIC's link before it costs a packet.
    path = IdealPath((link(100), link(25, 25, 25, 25)), 2)
    found = arrivals(path, *[(0, 10)] * 8)
    assert found[7] == max(
        (8 * (10 * PACKET + 20) * 2 + PACKET) * PS_PER_BYTE,  # rule 2: all bits at 50 Gb/s
        (FIRST + 4 * 4 * (10 * PACKET + 20)) * PS_PER_BYTE,  # rule 1: this QP's four messages at 25 Gb/s
    )


def test_links_behind_a_slower_nic_make_it_no_faster() -> None:
    path = IdealPath((link(25), link(100, 100, 100, 100)), 4)
    found = arrivals(path, *[(0, 10)] * 4)
    assert found[3] == 4 * (10 * PACKET + 20) * 4 * PS_PER_BYTE + PACKET * PS_PER_BYTE


def test_a_new_busy_period_forgets_the_old_one() -> None:
    path = IdealPath((link(100), link(100)), 2)
    alone = (ONLY + ONLY) * PS_PER_BYTE
    assert arrivals(path, (0, 1), (10**9, 1), (2 * 10**9, 1)) == [alone, 10**9 + alone, 2 * 10**9 + alone]


_posts = st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 5)), min_size=1, max_size=12).map(sorted)
_tiers = st.lists(st.lists(st.sampled_from([10, 25, 40, 100]), min_size=1, max_size=4), min_size=0, max_size=3)


def _path(tiers: list[list[int]], queue_pairs: int) -> IdealPath:
    between = [link(*sorted(rates, reverse=True)) for rates in tiers]
    return IdealPath((link(100), *between, link(100)), queue_pairs)


@given(_posts, _tiers, st.lists(st.integers(0, 10**6), min_size=12, max_size=12), st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_later_posts_never_arrive_earlier(
    posts: list[tuple[int, int]], tiers: list[list[int]], delays: list[int], queue_pairs: int
) -> None:
    """Of the messages up to each one, the last: what a receiver waits for that takes them in order."""
    late_posts, latest = [], 0
    for (posted, packets), delay in zip(posts, delays, strict=False):
        latest = max(latest, posted + delay)
        late_posts.append((latest, packets))
    soon, late = (arrivals(_path(tiers, queue_pairs), *these) for these in (posts, late_posts))
    assert all(max(soon[: end + 1]) <= max(late[: end + 1]) for end in range(len(posts)))


@given(_posts, _tiers, st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_with_one_queue_pair_the_first_rule_says_it_all(
    posts: list[tuple[int, int]], tiers: list[list[int]], queue_pairs: int
) -> None:
    """One QP: store and forward, turn by turn. More QPs are never slower."""
    rates = [100, *(max(tier) for tier in tiers), 100]
    free, expected = [0] * len(rates), []
    for posted, packets in posts:
        for size in message(packets).sizes:
            at = posted
            for hop, rate in enumerate(rates):
                at = free[hop] = max(at, free[hop]) + -(-size * 8000 // rate)
        expected.append(at)
    one = arrivals(_path(tiers, 1), *posts)
    assert one == expected
    more = arrivals(_path(tiers, queue_pairs), *posts)
    assert all(max(more[: end + 1]) <= one[end] for end in range(len(posts)))


# --- packets and plans ------------------------------------------------------------------------------------------------


def test_packets_of_a_message() -> None:
    assert Packets(3 * 4096, 4096, 4).sizes == (FIRST, PACKET, LAST)
    assert Packets(3 * 4096, 4096, 6).bits - Packets(3 * 4096, 4096, 4).bits == 3 * 20 * 8
    # An empty WRITE_ONLY with immediate: 14 + 20 + 8 + 12 + 16 + 4 + 4 = 78 B, above Ethernet's 60; + 24 on the wire.
    assert (Packets(0, 4096, 4).sizes, Packets(0, 4096, 4).smallest) == ((102,), 102)


def _timing(topology: dict[str, object], **options: object) -> tuple[TierTiming, ...]:
    plan = build_plan(FabricOptions.model_validate({"topology": topology, **options}))
    return path_timing(plan, plan.nics[0].name, plan.nics[-1].name)


def test_path_of_a_dumbbell() -> None:
    core = {"rate": "40Gbps", "delay": "3us"}
    topology = {"kind": "dumbbell", "left": 1, "right": 1, "core": core}
    assert _timing(topology, switch={"latency": "700ns"}) == (
        TierTiming((G100,), 500_000, 0),
        TierTiming((40 * 10**9,), 3_000_000, 700_000),
        TierTiming((G100,), 500_000, 700_000),
    )


@pytest.mark.parametrize("spines", [1, 4])
def test_equal_cost_links_of_a_leaf_spine(spines: int) -> None:
    up = {"rate": "25Gbps"}
    timing = _timing({"kind": "leaf-spine", "leaves": 3, "spines": spines, "hosts_per_leaf": 1, "uplink": up})
    assert [tier.rates_bps for tier in timing] == [(G100,), *[(25 * 10**9,) * spines] * 2, (G100,)]
    assert [tier.capacity_bps(2) for tier in timing] == [G100, *[min(spines, 2) * 25 * 10**9] * 2, G100]


def test_equal_cost_links_of_a_fat_tree() -> None:
    timing = _timing({"kind": "fat-tree", "k": 4})
    assert [len(tier.rates_bps) for tier in timing] == [1, 2, 4, 4, 2, 1]
