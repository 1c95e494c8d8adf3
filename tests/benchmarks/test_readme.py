"""The tables in benchmarks/README.md are those of the tool: every block parses, and a benchmark has one."""

import re

import pytest

from benchmarks import readme
from benchmarks.figures import Result, Table
from benchmarks.machine import Machine
from benchmarks.run import BENCHMARKS

TEXT = readme.README.read_text("utf-8")
BLOCKS = readme.blocks(TEXT)
MACHINE = Machine("a processor", 2, "6.1", "3.12.1", "3.1.0", "tcmalloc", 0.25)
RESULT = Result("speed", (Table("Speed", ("", "us"), (("write", "8.1"),)),), ("A note.",))
PAGE = (
    "above\n<!-- speed: begin, written by benchmarks/run.py --write -->\nold\n<!-- speed: end -->\n"
    "between\n<!-- size: begin, written by benchmarks/run.py --write -->\nkept\n<!-- size: end -->\nbelow\n"
)


def test_every_benchmark_has_a_block() -> None:
    assert set(BLOCKS) == set(BENCHMARKS)


def rows(body: str) -> list[list[str]]:
    """Return the cells of each row of the tables in a block."""
    lines = [line for line in body.splitlines() if line.startswith("|")]
    return [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_says_what_was_measured_where_and_how(name: str) -> None:
    body = BLOCKS[name]
    assert f"`python benchmarks/run.py {name} " in body
    if "Not measured yet" in body:
        assert rows(body) == []
        return
    assert re.search(r", \d+ cores, Linux .*, Python .*, Open vSwitch .* with .*; load before the start \d", body)
    for table in re.findall(r"(?:^\|.*\n)+", body, flags=re.MULTILINE):
        head, rule, *found = rows(table)
        assert all(set(cell.strip()) <= set("-:") for cell in rule)
        assert found
        assert {len(row) for row in (head, rule, *found)} == {len(head)}


def test_a_result_as_a_block() -> None:
    body = readme.body_of(RESULT, MACHINE, "python benchmarks/run.py speed --repeat 3")
    assert body == (
        "\n**Speed**\n\n|  | us |\n| --- | ---: |\n| write | 8.1 |\n\nA note.\n\n"
        "a processor, 2 cores, Linux 6.1, Python 3.12.1, Open vSwitch 3.1.0 with tcmalloc; load before the start 0.25."
        "\n\n`python benchmarks/run.py speed --repeat 3`\n\n"
    )


def test_only_the_named_block_is_replaced() -> None:
    changed = readme.replaced(PAGE, {"speed": "new\n"})
    assert changed == PAGE.replace("old\n", "new\n")
    assert readme.blocks(changed) == {"speed": "new\n", "size": "kept\n"}


def test_text_is_replaced_as_it_stands() -> None:
    """A body may hold what a replacement in a regular expression takes for a group."""
    assert readme.blocks(readme.replaced(PAGE, {"speed": "\\1 \\g<name>\n"}))["speed"] == "\\1 \\g<name>\n"


def test_a_block_that_is_missing() -> None:
    with pytest.raises(ValueError, match="expected a marked block for weight, found none"):
        readme.replaced(PAGE, {"weight": "new\n"})


@pytest.mark.parametrize("broken", [PAGE + PAGE, PAGE.replace("<!-- size: end -->\n", "")])
def test_blocks_that_do_not_parse(broken: str) -> None:
    with pytest.raises(ValueError, match="expected every block once, with begin and end"):
        readme.blocks(broken)
