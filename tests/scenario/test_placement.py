"""Where ranks are: names, orders of hosts, and rails."""

import pytest

from testbed.fabric.build import build_plan
from testbed.scenario.collectives import Counted
from testbed.scenario.model import FabricOptions
from testbed.scenario.placement import Rank, rank_named, ranks_of, room_for

PLAN = build_plan(FabricOptions.model_validate({"topology": {"kind": "single-switch", "hosts": 8}, "nics_per_host": 2}))


def names(seed: int = 1, **options: object) -> list[str]:
    return [rank.name for rank in ranks_of(Counted.model_validate(options), PLAN, seed)]


def test_names() -> None:
    assert rank_named("h3") == Rank("h3", "h3", 0)
    assert rank_named("h3.2") == Rank("h3.2", "h3", 2)
    assert [rank_named(name) for name in ("h3.", "h3.x", "h3.16", "h3.01", "h3.1.1", "h3.-1")] == [None] * 6


def test_all_and_listed() -> None:
    assert [rank.name for rank in ranks_of("all", PLAN, 1)] == [f"h{number}" for number in range(8)]
    assert [rank.local for rank in ranks_of(("h2.1", "h0"), PLAN, 1)] == [1, 0]


def test_packed() -> None:
    assert names(count=3) == ["h0", "h1", "h2"]
    assert names(count=3, skip=6) == ["h6", "h7"]  # the checker sees to it that there is room
    assert names(per_host=2, count=5) == ["h0.0", "h0.1", "h1.0", "h1.1", "h2.0"]


def test_strided() -> None:
    assert names(placement="strided", stride=3) == ["h0", "h3", "h6", "h1", "h4", "h7", "h2", "h5"]


def test_random_depends_on_the_seed_and_leaves_nobody_out() -> None:
    everyone = names(placement="random")
    assert sorted(everyone) == [f"h{number}" for number in range(8)]
    assert everyone == names(placement="random")
    assert everyone != names(2, placement="random")


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_jobs_that_skip_share_no_host(seed: int) -> None:
    first, second = (names(seed, placement="random", count=4, skip=skip) for skip in (0, 4))
    assert not set(first) & set(second)


def test_room() -> None:
    assert room_for(Counted.model_validate({"per_host": 3, "skip": 2}), PLAN) == 18
    assert room_for(Counted.model_validate({"skip": 9}), PLAN) == 0


def test_rails() -> None:
    assert [Rank("", "h4", local).nic(PLAN).name for local in range(4)] == ["h4-eth0", "h4-eth1"] * 2
