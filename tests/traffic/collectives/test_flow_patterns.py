"""Which flows a pattern is: as the textbook says, equal for equal seeds, of the load and sizes that are asked for."""

from collections import Counter
from itertools import pairwise
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.fabric.build import build_plan
from testbed.fabric.plan import FabricPlan
from testbed.scenario.flow_sizes import DISTRIBUTIONS
from testbed.scenario.model import FabricOptions, Flow, Flows
from testbed.units import MICROSECOND, MILLISECOND, SECOND
from tests.traffic.collectives.kit import star
from traffic.collectives.flow_patterns import derangement, flows_of


def plan(hosts: int, **options: object) -> FabricPlan:
    return build_plan(FabricOptions.model_validate(star(hosts, **options)))


def flows(pattern: str, hosts: int = 8, seed: int = 1, index: int = 0, **options: object) -> tuple[Flow, ...]:
    work = Flows.model_validate({"kind": "flows", "pattern": pattern, **options})
    return flows_of(work, plan(hosts), seed, index)


def ends(of: tuple[Flow, ...]) -> list[tuple[str, str]]:
    return [(flow.source, flow.destination) for flow in of]


# --- permutation and incast ------------------------------------------------------------------------------------------


@given(hosts=st.integers(2, 40), seed=st.integers(0, 2**63))
def test_a_derangement_moves_everyone(hosts: int, seed: int) -> None:
    names = [f"h{number}" for number in range(hosts)]
    order = derangement(names, np.random.Generator(np.random.PCG64(seed)))
    assert sorted(order) == sorted(names)
    assert all(ours != theirs for ours, theirs in zip(names, order, strict=True))


def test_every_derangement_is_equally_likely() -> None:
    """Of four there are 9; each is drawn about as often."""
    generator = np.random.Generator(np.random.PCG64(1))
    drawn = Counter(tuple(derangement("abcd", generator)) for _ in range(9000))
    assert len(drawn) == 9
    assert all(count == pytest.approx(1000, rel=0.15) for count in drawn.values())


def test_permutation() -> None:
    found = ends(flows("permutation", 16, size="1MiB"))
    assert [source for source, _ in found] == [f"h{number}" for number in range(16)]
    assert sorted(destination for _, destination in found) == sorted(f"h{number}" for number in range(16))
    assert found == ends(flows("permutation", 16, size="1MiB"))
    assert found != ends(flows("permutation", 16, seed=2, size="1MiB"))
    assert found != ends(flows("permutation", 16, index=1, size="1MiB"))


def test_incast_of_all_others() -> None:
    found = flows("incast", 5, size="1MiB", destination="h2")
    assert ends(found) == [("h0", "h2"), ("h1", "h2"), ("h3", "h2"), ("h4", "h2")]
    assert {flow.start for flow in found} == {0}


def test_incast_of_some_to_one_that_the_seed_chooses() -> None:
    found = [ends(flows("incast", 16, seed=seed, size="1MiB", sources=6)) for seed in range(20)]
    for pairs in found:
        (destination,) = {destination for _, destination in pairs}
        sources = {source for source, _ in pairs}
        assert len(sources) == 6
        assert destination not in sources
    assert len({pairs[0][1] for pairs in found}) > 5


def test_only_the_hosts_that_are_listed() -> None:
    hosts = ["h6", "h1", "h4"]
    work = Flows.model_validate({"kind": "flows", "pattern": "ring", "size": "1B", "hosts": hosts})
    assert ends(flows_of(work, plan(8))) == [("h6", "h1"), ("h1", "h4"), ("h4", "h6")]


def test_repetition() -> None:
    """Every 100 us for 250 us: at 0, 100 and 200."""
    found = flows("incast", 4, size="1MiB", destination="h0", every="100us", duration="250us")
    once = [("h1", "h0"), ("h2", "h0"), ("h3", "h0")]
    assert ends(found) == 3 * once
    assert [flow.start for flow in found] == [n * 100 * MICROSECOND for n in range(3) for _ in once]


def test_repeated_listed_flows_keep_their_own_starts() -> None:
    listed = [{"source": "h0", "destination": "h1", "size": "1B", "start": "3us"}]
    found = flows("listed", 2, flows=listed, every="10us", duration="20us")
    assert [flow.start for flow in found] == [3 * MICROSECOND, 13 * MICROSECOND]


# --- random ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("load", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("sizes", ["hadoop", "alistorage"])
def test_random_flows_offer_the_load(load: float, sizes: str) -> None:
    """Offered bits are load x rate x duration x hosts; over thousands of flows, within some per cent."""
    found = flows("random", 16, load=load, sizes=sizes, duration="20ms")
    offered = sum(flow.size for flow in found) * 8
    assert offered == pytest.approx(load * 100e9 * 0.020 * 16, rel=0.1)
    expected = load * 100e9 * 0.020 / (8 * DISTRIBUTIONS[sizes].mean_bytes)
    begun = Counter(flow.source for flow in found)
    assert len(begun) == 16
    assert all(count == pytest.approx(expected, rel=0.3) for count in begun.values())


def test_arrivals_are_poisson() -> None:
    """Gaps at a host are exponential: their mean is 8 S / (L R), and so is their standard deviation."""
    found = flows("random", 2, load=0.5, size="10kB", duration="20ms")
    starts = [flow.start for flow in found if flow.source == "h0"]
    gaps = [later - earlier for earlier, later in pairwise(starts)]
    expected = 8 * 10_000 / (0.5 * 100e9) * SECOND
    assert fmean(gaps) == pytest.approx(expected, rel=0.03)
    assert float(np.std(gaps)) == pytest.approx(expected, rel=0.05)
    assert all(0 <= start < 20 * MILLISECOND for start in starts)


def test_destinations_are_any_other_host_equally() -> None:
    found = flows("random", 5, load=1.0, size="1kB", duration="1ms")
    counts = Counter(ends(found))
    assert len(counts) == 20
    assert all(source != destination for source, destination in counts)
    assert all(count == pytest.approx(len(found) / 20, rel=0.1) for count in counts.values())


@pytest.mark.parametrize("name", ["hadoop", "alistorage"])
def test_drawn_sizes_have_the_distributions_mean(name: str) -> None:
    found = flows("random", 16, load=1.0, sizes=name, duration="20ms")
    assert fmean(flow.size for flow in found) == pytest.approx(DISTRIBUTIONS[name].mean_bytes, rel=0.1)


def test_random_flows_are_the_seeds_and_in_the_order_of_their_starts() -> None:
    options = {"load": 0.3, "sizes": "hadoop", "duration": "1ms"}
    found = flows("random", **options)
    assert found == flows("random", **options)
    assert found != flows("random", seed=2, **options)
    assert found != flows("random", index=1, **options)
    assert [flow.start for flow in found] == sorted(flow.start for flow in found)


def test_a_faster_link_offers_more() -> None:
    work = Flows.model_validate({"kind": "flows", "pattern": "random", "size": "10kB", "load": 0.5, "duration": "5ms"})
    slow = flows_of(work, plan(4, link={"rate": "10Gbps"}))
    fast = flows_of(work, plan(4, link={"rate": "100Gbps"}))
    assert len(fast) == pytest.approx(10 * len(slow), rel=0.1)
