"""Which part of the engine a sampled line belongs to."""

from collections import Counter

import pytest

from benchmarks.product import ROOT
from benchmarks.time_profile import CALLS, FORWARDER, OTHER, PARTS, part_of, parts_of

SOURCE = (ROOT / FORWARDER).read_text("utf-8").splitlines()


def line_with(text: str) -> int:
    """Return the number of the forwarder's last line with `text`."""
    return max(number for number, line in enumerate(SOURCE, start=1) if text in line)


@pytest.mark.parametrize(("call", "part"), CALLS.items())
def test_the_forwarders_system_calls_are_told_apart(call: str, part: str) -> None:
    assert part_of(str(ROOT / FORWARDER), line_with(call)) == part


@pytest.mark.parametrize(
    ("file", "part"),
    [
        ("testbed/engine/loop.py", "event loop"),
        ("testbed/engine/queues.py", "links, queues, switches"),
        ("traffic/wire/template.py", "frames and their CRC"),
        ("traffic/nic/responder.py", "NICs and queue pairs"),
        ("traffic/collectives/endpoint.py", "collectives"),
        ("testbed/run.py", OTHER),
    ],
)
def test_a_file_belongs_to_a_part(file: str, part: str) -> None:
    assert part_of(str(ROOT / file), 1) == part


def test_other_libraries_are_everything_else() -> None:
    assert part_of("/usr/lib/python3/select.py", 1) == OTHER


def test_parts_exist() -> None:
    """A part whose files have moved would silently stay empty."""
    assert [prefix for prefix, _ in PARTS if not (ROOT / prefix).exists()] == []


def test_samples_are_added_up() -> None:
    loop, queues = str(ROOT / "testbed/engine/loop.py"), str(ROOT / "testbed/engine/queues.py")
    assert parts_of({"lines": [[loop, 1, 2], [queues, 5, 3], [loop, 9, 4]]}) == Counter(
        {"event loop": 6, "links, queues, switches": 3}
    )
