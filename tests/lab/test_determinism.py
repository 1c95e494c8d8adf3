"""A run is a function of scenario and seed: nothing else gets into its results, and both Ryus give the same."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.controllers.lab import FLAVOURS, skip_without
from tests.independent_check import read_frames
from tests.lab.conftest import LOSSY
from tests.lab.runs import Run, good, run

pytestmark = pytest.mark.filterwarnings("ignore:Field type should not be:DeprecationWarning:pcapng")
"""python-pcapng warns of its own table of options."""

ACKNOWLEDGE = 0x11
Paths = dict[str, set[int]]


@contextmanager
def every_core_burning() -> Iterator[None]:
    """Keep as many processes as there are cores at work."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def burdened(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The same run beside a process a core that never rests."""
    with every_core_burning():
        return good(run(tmp_path_factory.mktemp("burdened"), LOSSY))


@pytest.fixture(scope="module")
def other_seed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return good(run(tmp_path_factory.mktemp("other-seed"), {**LOSSY, "seed": LOSSY["seed"] + 1}))


@pytest.fixture(scope="module")
def paths(lossy: Run) -> Paths:
    return source_ports(lossy)


def test_the_scenario_has_randomness_and_uses_it(lossy: Run) -> None:
    drops = lossy.summary["drops"]["by_reason"]
    assert drops["fault"] > 0
    assert drops["icrc"] > 0
    assert lossy.summary["retransmitted_packets"] > 0


def test_a_loaded_machine_changes_nothing_but_the_wall_block(lossy: Run, burdened: Run) -> None:
    assert burdened.text_before_wall == lossy.text_before_wall


def test_a_loaded_machine_changes_no_byte_of_any_other_file(lossy: Run, burdened: Run) -> None:
    names = sorted(path.name for path in lossy.directory.iterdir())
    assert "capture.pcapng" in names
    assert sorted(path.name for path in burdened.directory.iterdir()) == names
    for name in set(names) - {"summary.json"}:
        assert (burdened.directory / name).read_bytes() == (lossy.directory / name).read_bytes(), name


def test_another_seed_loses_other_packets(lossy: Run, other_seed: Run) -> None:
    assert other_seed.summary["drops"] != lossy.summary["drops"]
    assert other_seed.summary["duration_ps"] != lossy.summary["duration_ps"]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_both_ryus_give_the_same(lossy: Run, tmp_path: Path, flavour: str) -> None:
    skip_without(flavour)
    if lossy.summary["versions"]["controller"].split()[0] == flavour:
        return  # this is the one that `lossy` ran with
    other = good(run(tmp_path, LOSSY, environment={"ROCELAB_RYU": flavour}))
    assert other.summary["versions"]["controller"].split()[0] == flavour
    assert other.result_without("versions") == lossy.result_without("versions")


# --- ECMP ------------------------------------------------------------------------------------------------------------

UPLINKS = {"leaf0": ("leaf0-eth3", "leaf0-eth4"), "leaf1": ("leaf1-eth3", "leaf1-eth4")}
"""Two hosts a leaf, then one port a spine."""


def source_ports(done: Run) -> Paths:
    """Return the UDP source ports of the data packets that each uplink sent or received."""
    names = list(done.summary["ports"])
    found: Paths = {uplink: set() for uplinks in UPLINKS.values() for uplink in uplinks}
    for interface, frame in read_frames(done.directory / "capture.pcapng"):
        if names[interface] in found and frame[42] != ACKNOWLEDGE:
            found[names[interface]].add(int.from_bytes(frame[34:36], "big"))
    return found


@pytest.mark.parametrize("leaf", UPLINKS)
def test_queue_pairs_spread_over_the_spines_by_their_source_port(lossy: Run, paths: Paths, leaf: str) -> None:
    """Each QP of the one flow out of the leaf, and of the one into it, keeps to one spine; both spines get some."""
    one, other = (paths[port] for port in UPLINKS[leaf])
    flows, queue_pairs = 2, LOSSY["transport"]["qps_per_connection"]
    assert not one & other
    assert len(one | other) == flows * queue_pairs
    assert min(len(one), len(other)) >= 2
    assert all(lossy.summary["ports"][port]["data_packets"] > 0 for port in UPLINKS[leaf])


def test_another_seed_gives_other_source_ports(paths: Paths, other_seed: Run) -> None:
    others = source_ports(other_seed)
    for one, other in UPLINKS.values():
        assert others[one] | others[other] != paths[one] | paths[other]
