"""`rocelab doctor`: what it prints for a terminal, a pipe and a program, and how it ends."""

import json

import pytest
from click.testing import CliRunner
from rich.console import Console, RenderableType
from rich.text import Text

from testbed.cli import doctor as module
from testbed.cli.doctor import doctor, remedies, table
from testbed.outside.check import Check

FINE = Check("ip", True, True, "ip in /usr/sbin")
MISSING = Check("mnexec", False, True, "not found: mnexec", "sudo apt-get install --no-install-recommends mininet")
OPTIONAL = Check("tcmalloc", False, False, "not found", "sudo apt-get install libtcmalloc-minimal4")
TESTS_TOO = pytest.mark.parametrize(
    ("found", "status"), [([FINE], 0), ([FINE, OPTIONAL], 0), ([FINE, OPTIONAL, MISSING], 3)]
)


def run(monkeypatch: pytest.MonkeyPatch, found: list[Check], *arguments: str) -> tuple[int, str]:
    monkeypatch.setattr(module, "checks", lambda: found)
    result = CliRunner().invoke(doctor, arguments)
    return result.exit_code, result.output


@TESTS_TOO
def test_exit_status_says_whether_a_run_would_work(
    monkeypatch: pytest.MonkeyPatch, found: list[Check], status: int
) -> None:
    assert run(monkeypatch, found)[0] == status
    assert run(monkeypatch, found, "--json")[0] == status


def test_plain_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, [FINE, MISSING, OPTIONAL])[1] == (
        "ok        ip        ip in /usr/sbin\n"
        "MISSING   mnexec    not found: mnexec\n"
        "                    mend: sudo apt-get install --no-install-recommends mininet\n"
        "optional  tcmalloc  not found\n"
        "                    mend: sudo apt-get install libtcmalloc-minimal4\n"
        "A run would not work here: mend the 1 marked MISSING.\n"
    )


def test_json_holds_every_field(monkeypatch: pytest.MonkeyPatch) -> None:
    _, output = run(monkeypatch, [FINE, MISSING], "--json")
    assert json.loads(output) == [
        {"name": "ip", "ok": True, "required": True, "found": "ip in /usr/sbin", "remedy": ""},
        {
            "name": "mnexec",
            "ok": False,
            "required": True,
            "found": "not found: mnexec",
            "remedy": "sudo apt-get install --no-install-recommends mininet",
        },
    ]


def test_json_is_only_json(monkeypatch: pytest.MonkeyPatch) -> None:
    assert json.loads(run(monkeypatch, [MISSING], "--json")[1])


def on_a_terminal(*parts: RenderableType) -> str:
    console = Console(width=40, force_terminal=True, color_system=None)
    with console.capture() as capture:
        for part in parts:
            console.print(part, soft_wrap=isinstance(part, Text))
    return capture.get()


def test_table_takes_brackets_as_text() -> None:
    assert "[Errno 2] No such" in on_a_terminal(table([Check("x", False, True, "[Errno 2] No such")]))


def test_commands_stay_whole_on_a_narrow_terminal() -> None:
    assert on_a_terminal(*remedies([FINE, MISSING])) == (
        "\nmnexec: sudo apt-get install --no-install-recommends mininet\n\n"
    )
