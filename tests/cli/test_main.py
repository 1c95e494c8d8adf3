"""How the command ends when nobody reads what it says, and when it is interrupted."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.cli import main as command
from tests.cli.test_check import RIGHT, run

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("closed", "lines"), [("<&-", 1), (">&-", 0), ("2>&-", 1), ("<&- >&- 2>&-", 0)], ids=["in", "out", "err", "all"]
)
def test_streams_that_are_closed_from_the_start(closed: str, lines: int) -> None:
    script = f'exec "$0" -m testbed check {RIGHT} {closed}'
    done = subprocess.run(["sh", "-c", script, sys.executable], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == lines


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
