"""Imports point one way, and each outside world is touched in one place (testbed/__init__.py has the map)."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("testbed", "controllers", "traffic")

LAYERS = (
    ("testbed.errors", "testbed.units"),
    ("testbed.scenario.quantities", "testbed.scenario.section", "testbed.scenario.limits", "testbed.scenario.files"),
    ("testbed.scenario.collectives", "testbed.scenario.congestion", "testbed.scenario.qos", "testbed.scenario.hosts"),
    ("testbed.scenario.traces", "testbed.scenario.replay"),
    ("testbed.scenario.model",),  # the schema, which every stage reads
    ("testbed.fabric",),
    ("controllers.openflow",),
    ("controllers.rules",),
    ("controllers.policy",),  # what a policy is written with; its options are part of a scenario
    ("controllers.policies",),
    ("traffic.plugins",),
    ("traffic.collectives.algorithm",),  # algorithms are pure: the checker asks them what they refuse
    ("traffic.collectives.algorithms",),
    ("traffic.wire",),
    ("traffic.traces", "traffic.replay.capture"),  # readers: the checker reads a trace before anything runs
    ("testbed.scenario",),  # the checker: it builds the plan to look up the names that a scenario uses
    ("testbed.engine",),
    ("controllers", "traffic"),
    ("testbed.measurement",),
    ("testbed.report",),
    ("testbed.outside",),
    ("testbed.control",),
    ("testbed.lab",),
    ("testbed.live",),
    ("testbed.running",),
    ("testbed.measured",),
    ("testbed.run",),
    ("testbed.bench", "testbed.shell", "testbed.labs"),
    ("testbed.cli",),
    ("testbed.__main__",),
)
"""A layer imports only those above it here; the members of one layer know nothing of each other. A module belongs to
the longest of the names that it begins with."""

WORLDS: dict[str, str | tuple[str, ...]] = {
    "mininet": ("testbed/outside/network.py", "testbed/outside/mininet_shell.py"),
    "docker": "testbed/outside/containers.py",
    "ryu": "controllers/",
    "os_ken": "controllers/",
    "eventlet": "controllers/",
    "scapy": "traffic/wire/",
    "ruamel": "testbed/scenario/reading.py",
    "google": "traffic/traces/chakra/",
    "pcapng": "testbed/measurement/capture.py",
    "pyarrow": "testbed/report/tables.py",
    "click": "testbed/cli/",
    "fcntl": "testbed/outside/",
    "ctypes": "testbed/outside/sandbox.py",
}
"""What is imported from one file, or one folder, only."""

MODEL = ("testbed/scenario/", "testbed/fabric/", "testbed/engine/", "traffic/")
NOT_IN_A_MODEL = {"time", "datetime", "os", "socket", "select", "subprocess", "threading", "asyncio", "multiprocessing"}
"""A model reads no clock, no socket and no environment: time and randomness are passed in."""


@dataclass(frozen=True)
class Import:
    """`file` imports the module `target` in `line`; `names` are those that it takes from it."""

    file: str
    line: int
    target: str
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: imports {self.target}"


def imports_of(source: str, file: str) -> Iterator[Import]:
    for node in ast.walk(ast.parse(source, file)):
        if isinstance(node, ast.Import):
            yield from (Import(file, node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: a relative import; write it in full"
            names = tuple(alias.name for alias in node.names)
            assert node.module is not None
            yield Import(file, node.lineno, node.module, names)


def layer_of(module: str) -> tuple[int, str] | None:
    """Return the number and the name of the layer's member that `module` belongs to; None for others' modules."""
    members = [(number, member) for number, layer in enumerate(LAYERS) for member in layer]
    mine = [(number, member) for number, member in members if f"{module}.".startswith(f"{member}.")]
    return max(mine, key=lambda item: len(item[1]), default=None)


def module_of(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def points_the_wrong_way(found: Import) -> bool:
    ours, theirs = layer_of(module_of(found.file)), layer_of(found.target)
    if ours is None or theirs is None or ours == theirs:
        return False
    return theirs[0] >= ours[0]


def outside_its_place(found: Import) -> bool:
    place = WORLDS.get(found.target.split(".")[0])
    return place is not None and not found.file.startswith(place)


def unfit_for_a_model(found: Import) -> bool:
    if not found.file.startswith(MODEL):
        return False
    top = found.target.split(".")[0]
    return top in NOT_IN_A_MODEL or (top == "random" and found.names != ("Random",))


def all_imports() -> list[Import]:
    files = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return [found for path in files for found in imports_of(path.read_text(), path.relative_to(ROOT).as_posix())]


def refuse(offenders: Iterable[Import]) -> None:
    named = "\n".join(str(offender) for offender in offenders)
    assert not named, f"imports that break the layers:\n{named}"


def test_every_module_has_a_layer() -> None:
    files = {found.file for found in all_imports()} - {f"{package}/__init__.py" for package in PACKAGES}
    assert [file for file in sorted(files) if layer_of(module_of(file)) is None] == []


def test_imports_point_one_way() -> None:
    refuse(found for found in all_imports() if points_the_wrong_way(found))


def test_each_world_is_touched_in_its_place() -> None:
    refuse(found for found in all_imports() if outside_its_place(found))


def test_models_get_time_and_randomness_passed_in() -> None:
    refuse(found for found in all_imports() if unfit_for_a_model(found))


@pytest.mark.parametrize(
    ("file", "source", "wrong"),
    [
        ("testbed/engine/loop.py", "from testbed.fabric.plan import FabricPlan", False),
        ("testbed/fabric/plan.py", "def later():\n    from testbed.engine.loop import EventLoop", True),
        ("testbed/fabric/build.py", "import testbed.scenario.model", False),
        ("testbed/fabric/build.py", "from testbed.scenario import load", True),
        ("testbed/scenario/semantics.py", "from testbed.fabric.plan import FabricPlan", False),
        ("traffic/nic/nic.py", "import controllers.channel", True),
        ("controllers/rules.py", "from controllers.openflow import Match", False),
        ("testbed/units.py", "from testbed.unitsize import x", False),
    ],
)
def test_the_direction_is_judged_by_layer(file: str, source: str, wrong: bool) -> None:
    assert [points_the_wrong_way(found) for found in imports_of(source, file)] == [wrong]


def test_the_offender_is_named() -> None:
    (found,) = imports_of("\nfrom mininet.net import Mininet", "testbed/run.py")
    assert outside_its_place(found)
    assert str(found) == "testbed/run.py:2: imports mininet.net"


@pytest.mark.parametrize(
    ("source", "unfit"),
    [("from random import Random", False), ("import random", True), ("from time import monotonic", True)],
)
def test_a_model_may_import(source: str, unfit: bool) -> None:
    assert [unfit_for_a_model(found) for found in imports_of(source, "traffic/nic/nic.py")] == [unfit]
