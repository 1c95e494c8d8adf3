"""How the command ends when nobody reads what it says, and when it is interrupted."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.cli import main as command
from testbed.measurement.causes.model import Explanation
from testbed.report.story import story, write_story
from testbed.report.summary import summary, write_summary
from tests.cli.test_check import RIGHT, run
from tests.report import examples

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("closed", "lines"), [("<&-", 1), (">&-", 0), ("2>&-", 1), ("<&- >&- 2>&-", 0)], ids=["in", "out", "err", "all"]
)
def test_streams_that_are_closed_from_the_start(closed: str, lines: int) -> None:
    script = f'exec "$0" -m testbed check {RIGHT} {closed}'
    done = subprocess.run(["sh", "-c", script, sys.executable], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == lines


def test_programs_that_are_started_have_all_streams_too() -> None:
    child = "import os; [os.fstat(file) for file in range(3)]"
    parent = (
        "import subprocess, sys; from testbed.cli.pipe import open_closed_streams; open_closed_streams(); "
        f"sys.exit(subprocess.run([sys.executable, '-c', {child!r}], close_fds=False).returncode)"
    )
    script = 'exec "$0" -c "$1" <&- >&- 2>&-'
    assert subprocess.run(["sh", "-c", script, sys.executable, parent], cwd=ROOT, timeout=60).returncode == 0


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("command", ["explain", "show"])
def test_standard_output_that_takes_no_more(command: str, unbuffered: str, tmp_path: Path) -> None:
    write_summary(tmp_path, summary(examples.clean()))
    write_story(tmp_path, story(Explanation((), (), {})))
    of = {"explain": tmp_path, "show": RIGHT}[command]
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -m testbed {command} {of} >/dev/full', sys.executable],
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == "rocelab: standard output cannot be written: No space left on device\n"
    assert done.returncode == 1


def test_a_file_that_takes_no_more_stays_what_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is not standard output that fails."""

    def full(**_options: object) -> int:
        raise OSError(28, "No space left on device", "runs/it/summary.json")

    monkeypatch.setattr(command.rocelab, "main", full)
    with pytest.raises(OSError, match=r"summary\.json"):
        command.main([])
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("wrapped", [False, True], ids=["as it is", "made an error by a library"])
def test_ctrl_c_ends_with_130_and_a_word(
    wrapped: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(**_options: object) -> int:
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt as error:
            if wrapped:
                raise RuntimeError("cannot build the model") from error
            raise
        return 0

    monkeypatch.setattr(command.rocelab, "main", interrupted)
    before = signal.getsignal(signal.SIGINT)
    assert run("check") == 130
    assert capsys.readouterr().err == "rocelab: interrupted\n"
    assert signal.getsignal(signal.SIGINT) is before


def test_an_error_without_ctrl_c_stays_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_options: object) -> int:
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr(command.rocelab, "main", broken)
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        command.main([])
