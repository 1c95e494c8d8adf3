"""`rocelab doctor`: what it prints for a terminal, a pipe and a program, and how it ends."""

import json

import pytest
from click.testing import CliRunner
from rich.console import Console

from testbed.cli import doctor as module
from testbed.cli.doctor import doctor, table
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


def test_table_takes_brackets_as_text() -> None:
    console = Console(width=100, record=True, force_terminal=True, file=None, quiet=False)
    with console.capture() as capture:
        console.print(table([Check("x", False, True, "[Errno 2] No such file", "cmd [red]a[/red]")]))
    assert "[Errno 2] No such file" in capture.get()
    assert "cmd [red]a[/red]" in capture.get()
