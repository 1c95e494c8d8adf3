"""``rocelab check`` as a user meets it: output, messages, exit statuses, and what it imports."""

import subprocess
import sys
from pathlib import Path

import pytest

from testbed.cli.main import COMMANDS, main
from testbed.cli.scenarios import FOLDER

RIGHT = FOLDER / "01-ring-all-reduce.yaml"
BROKEN = Path(__file__).parents[1] / "errors" / "01-unknown-key.yaml"


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert isinstance(caught.value.code, int)
    return caught.value.code


def test_right_files_are_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    files = sorted(FOLDER.glob("*.yaml"))
    assert run("check", *map(str, files)) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert [line.split(": ")[0] for line in out.splitlines()] == [str(file) for file in files]


def test_all_mistakes_of_all_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", str(BROKEN), str(RIGHT), "none.yaml") == 2
    out, err = capsys.readouterr()
    assert out.startswith(f"{RIGHT}: right: ")
    first, second = err.splitlines()
    assert first.startswith(f"{BROKEN}:3:32: fabric.topology.leafs: 'leafs' is not a key")
    assert second.startswith("none.yaml: expected a scenario file")


def test_overrides_are_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", str(RIGHT), "--set", "fabric.link.rate=400Gbps") == 0
    assert run("check", str(RIGHT), "--set", "seed=soon") == 2
    assert capsys.readouterr().err.startswith("--set seed=soon: seed: expected a whole number")


def test_a_misspelt_command_has_near_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("chekc", str(RIGHT)) == 2
    assert capsys.readouterr().err == "rocelab: 'chekc' is not a command; did you mean 'check'?\n"
    assert run("zzz") == 2
    assert capsys.readouterr().err == f"rocelab: 'zzz' is not a command; the commands are {', '.join(COMMANDS)}\n"


def test_no_argument_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    out = capsys.readouterr().out
    assert all(f"\n  {name} " in out for name in COMMANDS)


def test_an_argument_that_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check") == 2
    assert "FILE" in capsys.readouterr().err


def test_as_a_module_without_colour() -> None:
    result = subprocess.run([sys.executable, "-m", "testbed", "check", str(RIGHT)], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    assert "\x1b" not in result.stdout


def test_check_imports_nothing_heavy() -> None:
    """Start-up is quick because of what is left out: about 0.2 s with what remains."""
    code = (
        "import sys\nfrom testbed.cli.main import main\n"
        f"try: main(['check', {str(RIGHT)!r}])\nexcept SystemExit: pass\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "pyarrow", "scapy", "mininet", "rich", "ryu", "os_ken", "eventlet"} & set(modules)


def test_a_closed_pipe_is_quiet() -> None:
    command = [sys.executable, "-m", "testbed", "show", str(RIGHT)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1
