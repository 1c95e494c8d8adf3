"""What the documents tell a user to type is typed here, and what they show is compared with what comes out.

A block marked ``sh`` is one script. It runs in a folder of its own that looks like the project's, where ``./rocelab``
stands for this interpreter's ``python -m testbed``: the bootstrap, which would only install what is installed, is left
out (``tests/test_bootstrap.py`` is about that). `./rocelab test` collects the tests without running them again.

    ```sh exit=2          ends with this status; 0 without
    ```sh syntax-only     would change the machine (sudo, apt): only the shell's grammar is checked

A block marked ``text`` behind it is what it prints. A line of three dots there stands for any lines, and wall time,
speed and memory are whatever they are on this machine. After a change of what is printed:
``./rocelab test tests/test_readme.py --update-golden`` puts the like lines in their places; review the diff.
"""

import importlib
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import pytest

from testbed.cli.main import COMMANDS
from testbed.errors import MachineError
from testbed.outside.machine import require_machine
from tests.markdown import DOCUMENTS, ROOT, Block, blocks

README = ROOT / "README.md"
SEEN_IN_THE_PROJECT = ("scenarios", "docs", "tests", "controllers", "README.md")
CHANGES_THE_MACHINE = ("sudo ", "apt-get ", "docker ", "git clone ")
STANDS_FOR_ROCELAB = """#!/bin/sh
[ "${{1-}}" != test ] || set -- "$@" --collect-only -q
exec "{python}" -m testbed "$@"
"""
ELSEWHERE_DIFFERENT = [
    (re.compile(r"in [\d.]+ s, after [\d.]+ s to start"), "in (time), after (time) to start"),
    (re.compile(r", [\d,]+ a second; \d+MiB of memory"), ", (speed) a second; (memory) of memory"),
]


@dataclass(frozen=True)
class Example:
    """A script in a document and what it is said to print, None where that is not shown."""

    script: Block
    shown: str | None

    @property
    def status(self) -> int:
        given = [word.removeprefix("exit=") for word in self.script.info if word.startswith("exit=")]
        return int(given[0]) if given else 0

    @property
    def is_run(self) -> bool:
        return "syntax-only" not in self.script.info


def examples() -> list[Example]:
    found = []
    for document in DOCUMENTS:
        all_blocks = blocks(document)
        for block, following in zip(all_blocks, (*all_blocks, None)[1:], strict=True):
            if block.language == "sh":
                shown = following.text if following is not None and following.language == "text" else None
                found.append(Example(block, shown))
    return found


EXAMPLES = examples()


def need_a_machine_for(script: str) -> None:
    """Skip, with the reason, where `script` builds a fabric and the machine cannot."""
    if re.search(r"\./rocelab (run|bench|show .*--flows)", script):
        try:
            require_machine()
        except MachineError as error:
            pytest.skip(str(error))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder that looks like the project's, with another ``rocelab``."""
    for name in SEEN_IN_THE_PROJECT:
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    command = tmp_path / "rocelab"
    command.write_text(STANDS_FOR_ROCELAB.format(python=sys.executable))
    command.chmod(0o755)
    return tmp_path


def carry_out(script: str, place: Path) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    for name in ("ROCELAB_RYU", "COLUMNS", "PYTEST_ADDOPTS"):
        environment.pop(name, None)
    return subprocess.run(
        ["sh", "-eu", "-c", script], cwd=place, env=environment, capture_output=True, encoding="utf-8", timeout=240
    )


def pattern(shown: str) -> re.Pattern[str]:
    """Return what matches the text that a document shows: lines of three dots stand for any lines."""
    lines = ["(?:.*\n)*?" if line.strip() == "..." else re.escape(f"{line}\n") for line in shown.splitlines()]
    return re.compile(rf"\n*{''.join(lines)}\n*")


def alike(text: str) -> str:
    """Return `text` with what differs from machine to machine put out of sight."""
    for different, same in ELSEWHERE_DIFFERENT:
        text = different.sub(same, text)
    return text


def brought_up(shown: str, printed: str) -> str:
    """Return `shown` with each of its lines replaced by the likest that is printed behind the one before."""
    lines, ahead = [], printed.splitlines()
    for line in shown.splitlines():
        near = get_close_matches(line, ahead, n=1)
        if line.strip() != "..." and near:
            ahead = ahead[ahead.index(near[0]) + 1 :]
            line = near[0]
        lines.append(line)
    return "\n".join(lines) + "\n"


def bring_up(example: Example, printed: str) -> None:
    """Write what is printed into the document; fail where the lines shown have no likes any more."""
    assert example.shown is not None
    now = brought_up(example.shown, printed)
    assert pattern(alike(now)).fullmatch(alike(printed)), f"mend {example.script} by hand; printed is:\n{printed}"
    document = example.script.file
    document.write_text(document.read_text("utf-8").replace(example.shown, now, 1), encoding="utf-8")


@pytest.mark.parametrize("example", [example for example in EXAMPLES if example.is_run], ids=lambda e: str(e.script))
def test_what_is_shown_is_what_happens(example: Example, place: Path, request: pytest.FixtureRequest) -> None:
    script = example.script.text
    need_a_machine_for(script)
    done = carry_out(script, place)
    assert done.returncode == example.status, done.stdout + done.stderr
    printed = done.stdout or done.stderr
    if example.shown is None:
        return
    if script.strip() == "./rocelab test":
        assert re.fullmatch(r"\d+ passed(, \d+ skipped)? in [\d.]+s( \([\d:]+\))?\n", example.shown)
    elif not pattern(alike(example.shown)).fullmatch(alike(printed)):
        if request.config.getoption("--update-golden"):
            bring_up(example, printed)
            return
        pytest.fail(f"{example.script} shows something else than this, which is printed:\n{printed}", pytrace=False)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: str(e.script))
def test_the_shell_understands_it(example: Example) -> None:
    done = subprocess.run(["sh", "-n", "-c", example.script.text], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_only_what_would_change_the_machine_is_not_run() -> None:
    left_out = [line for example in EXAMPLES if not example.is_run for line in example.script.text.splitlines()]
    assert [line for line in left_out if not line.startswith(CHANGES_THE_MACHINE)] == []
    run = [line for example in EXAMPLES if example.is_run for line in example.script.text.splitlines()]
    assert [line for line in run if line.lstrip().startswith(CHANGES_THE_MACHINE)] == []


def test_the_first_two_commands() -> None:
    """A reader's first screen: the two commands with which everything starts."""
    assert [example.script.text for example in EXAMPLES if example.script.file == README][:2] == [
        "./rocelab run scenarios/01-ring-all-reduce.yaml\n",
        "./rocelab test\n",
    ]


def test_every_command_is_in_the_readme() -> None:
    text = README.read_text("utf-8")
    assert [command for command in COMMANDS if f"| `./rocelab {command}" not in text] == []


@pytest.mark.parametrize("command", ["run", "check", "show", "scenarios", "doctor"])
def test_every_option_is_in_the_readme(command: str) -> None:
    options = getattr(importlib.import_module(f"testbed.cli.{command}"), command).params
    names = {name for option in options for name in option.opts if name.startswith("--")} - {"--help"}
    text = README.read_text("utf-8")
    assert [name for name in sorted(names) if f"`{name}" not in text] == []


@pytest.mark.parametrize(
    ("shown", "printed", "matches"),
    [
        ("a\nb\n", "\na\nb\n\n", True),
        ("a\n", "a\nb\n", False),
        ("a\n...\nz\n", "a\nb\nc\nz\n", True),
        (" ...\nz\n", "z\n", True),
        ("a\n...\nz\n", "a\nb\n", False),
        ("busbw 85.83\n", "busbw 85.93\n", False),
        ("7us of model time in 2.1 s, after 1.5 s to start\n", "7us of model time in 9 s, after 4 s to start\n", True),
        (
            "7us of model time in 2.1 s, after 1.5 s to start\n",
            "8us of model time in 2.1 s, after 1.5 s to start\n",
            False,
        ),
    ],
)
def test_how_output_is_compared(shown: str, printed: str, matches: bool) -> None:
    assert bool(pattern(alike(shown)).fullmatch(alike(printed))) == matches


def test_shown_lines_are_brought_up_to_date() -> None:
    printed = "\ntitle\n time 7.5us\n other\n 5 expectations met, 6 invariants held\n"
    shown = "title\n ...\n time 7.1us\n ...\n 4 expectations met, 6 invariants held\n"
    assert brought_up(shown, printed) == "title\n ...\n time 7.5us\n ...\n 5 expectations met, 6 invariants held\n"
    assert pattern(brought_up(shown, printed)).fullmatch(printed)
