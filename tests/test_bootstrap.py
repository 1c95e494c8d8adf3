"""./rocelab, the shell script: what it installs, says and refuses, with stand-ins for every program that would install.

The stand-in for Python answers `-m venv` by copying itself, and writes down what it was asked to do. So these tests
need neither network nor root; that real packages install is seen by the first use on a fresh machine.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOOLS = (
    "sh",
    "cat",
    "chmod",
    "cp",
    "find",
    "flock",
    "mkdir",
    "mktemp",
    "readlink",
    "rm",
    "sed",
    "sha256sum",
    "tail",
    "touch",
)
PROGRAMS = (
    "ovs-vswitchd", "ovsdb-server", "ovs-vsctl", "ovs-ofctl", "ovs-appctl", "ovsdb-tool", "mnexec", "ip", "ifconfig",
)  # fmt: skip

PYTHON = """#!/bin/sh
case "$*" in
    -c*) exit 0 ;;
    -V) echo "Python 3.11.0" ;;
    "-m venv --clear "*)
        echo "venv" >>"$ROCELAB_TEST_LOG"
        mkdir -p "$4" && rm -rf "$4"/* && mkdir "$4/bin" && cp "$0" "$4/bin/python"
        ;;
    "-m pip "*)
        [ -z "${ROCELAB_TEST_PIP_FAILS:-}" ] || { echo "ERROR: no such host"; exit 1; }
        for last; do :; done
        echo "pip ${last##*/}" >>"$ROCELAB_TEST_LOG"
        ;;
    *)
        shift
        printf 'started'
        for word; do printf ' <%s>' "$word"; done
        echo
        ;;
esac
"""


@dataclass
class Machine:
    """A copy of the bootstrap in `tree`, and a PATH, `programs`, that holds only what a test puts there."""

    tree: Path
    programs: Path
    log: Path
    environment: dict[str, str]

    def put(self, name: str, script: str = "") -> None:
        path = self.programs / name
        path.unlink(missing_ok=True)
        path.write_text(script or "#!/bin/sh\n")
        path.chmod(0o755)

    def start(self, *arguments: str, script: Path | None = None, **environment: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [script or self.tree / "rocelab", *arguments],
            cwd=self.programs, env={**self.environment, **environment}, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, *arguments: str, script: Path | None = None, **environment: str) -> tuple[int, str, str]:
        """Return exit status, standard output and standard error."""
        process = self.start(*arguments, script=script, **environment)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def done(self) -> list[str]:
        """Return what the stand-ins were asked to do since the last call."""
        lines = self.log.read_text().splitlines()
        self.log.write_text("")
        return lines


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    tree = tmp_path / "a tree"
    shutil.copytree(ROOT / "requirements", tree / "requirements")
    for name in ("rocelab", "pyproject.toml"):
        shutil.copy(ROOT / name, tree)
    machine = Machine(tree, tmp_path / "programs", tmp_path / "log", {})
    machine.programs.mkdir()
    machine.log.touch()
    for name in TOOLS:
        (machine.programs / name).symlink_to(str(shutil.which(name)))
    for name in PROGRAMS:
        machine.put(name)
    machine.put("python", PYTHON)
    machine.put("id", "#!/bin/sh\necho 1000\n")
    machine.put("sudo", '#!/bin/sh\necho "sudo $*" >>"$ROCELAB_TEST_LOG"\nexit 1\n')
    machine.put("apt-get", '#!/bin/sh\necho "apt-get $*" >>"$ROCELAB_TEST_LOG"\nexit 1\n')
    machine.environment = {
        "PATH": str(machine.programs),
        "TMPDIR": str(tmp_path),
        "ROCELAB_PYTHON": str(machine.programs / "python"),
        "ROCELAB_TEST_LOG": str(machine.log),
    }
    # The script adds the system's own folders to PATH; here they must not show through.
    script = (tree / "rocelab").read_text()
    (tree / "rocelab").write_text(script.replace(":/usr/local/sbin:/usr/sbin:/sbin", ""))
    return machine


FIRST = ["venv", "pip build.lock", "pip run.lock", "pip a tree"]


def test_first_use_installs_and_starts(machine: Machine) -> None:
    status, out, err = machine.run("run", "a b.yaml", "")
    assert (status, out) == (0, "started <run> <a b.yaml> <>\n")
    assert machine.done() == FIRST
    assert err.splitlines() == [
        f"rocelab: making {machine.tree}/.venv from Python 3.11.0",
        "rocelab: installing Python packages: requirements/build.lock",
        "rocelab: installing Python packages: requirements/run.lock",
    ]


def test_second_use_only_starts(machine: Machine) -> None:
    machine.run("check")
    machine.done()
    assert machine.run("check", "x") == (0, "started <check> <x>\n", "")
    assert machine.done() == []


def test_tests_install_more_once(machine: Machine) -> None:
    machine.run("check")
    machine.done()
    assert machine.run("test", "-x")[:2] == (0, "started <test> <-x>\n")
    assert machine.done() == ["pip test.lock"]
    machine.run("test")
    machine.run("check")
    assert machine.done() == []


@pytest.mark.parametrize("file", ["requirements/run.lock", "requirements/test.lock", "pyproject.toml"])
def test_changed_pins_are_installed_anew(machine: Machine, file: str) -> None:
    machine.run("check")
    machine.done()
    with (machine.tree / file).open("a") as lock:
        lock.write("# another line\n")
    machine.run("check")
    assert machine.done() == FIRST


def test_interrupted_first_use_is_begun_again(machine: Machine) -> None:
    assert machine.run("check", ROCELAB_TEST_PIP_FAILS="1")[0] == 3
    machine.done()
    assert machine.run("check")[0] == 0
    assert machine.done() == FIRST


def test_works_by_a_symbolic_link(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(machine.tree / "rocelab")
    assert machine.run("check", script=tmp_path / "link")[:2] == (0, "started <check>\n")
    assert (machine.tree / ".venv" / "run.stamp").exists()


def test_two_at_once_install_once(machine: Machine) -> None:
    processes = [machine.start("check") for _ in range(4)]
    ends = [(*process.communicate(timeout=60), process.returncode) for process in processes]
    assert [(out, status) for out, _, status in ends] == [("started <check>\n", 0)] * 4
    assert machine.done() == FIRST


def test_the_environment_may_be_elsewhere(machine: Machine, tmp_path: Path) -> None:
    assert machine.run("check", ROCELAB_VENV=str(tmp_path / "else where"))[0] == 0
    assert not (machine.tree / ".venv").exists()
    assert (tmp_path / "else where" / "run.stamp").exists()


def test_missing_packages_without_sudo(machine: Machine) -> None:
    for name in ("mnexec", "ovs-ofctl", "ovsdb-tool"):
        (machine.programs / name).unlink()
    status, out, err = machine.run("run", "x")
    assert (status, out) == (3, "")
    assert err == (
        "rocelab: these packages are missing; ask an administrator for\n"
        "    sudo apt-get install --no-install-recommends openvswitch-switch mininet\n"
    )
    assert machine.done() == ["sudo -n true"]


def test_a_package_that_cannot_be_had_is_named(machine: Machine) -> None:
    (machine.programs / "mnexec").unlink()
    machine.put("sudo", '#!/bin/sh\n[ "$1" = -n ] || { echo "E: Unable to locate package mininet"; exit 1; }\n')
    status, _, err = machine.run("run", "x")
    assert status == 3
    assert "    E: Unable to locate package mininet\nrocelab: could not install all of: mininet" in err


def test_the_doctor_runs_without_the_packages(machine: Machine) -> None:
    (machine.programs / "mnexec").unlink()
    assert machine.run("doctor")[:2] == (0, "started <doctor>\n")


def test_no_apt(machine: Machine) -> None:
    for name in ("mnexec", "apt-get"):
        (machine.programs / name).unlink()
    status, _, err = machine.run("run", "x")
    assert (status, err) == (3, "rocelab: no apt-get here: install what Debian has in its packages mininet\n")


def test_pip_is_quoted(machine: Machine) -> None:
    status, _, err = machine.run("check", ROCELAB_TEST_PIP_FAILS="1")
    assert status == 3
    assert err.endswith(f"    ERROR: no such host\nrocelab: could not install into {machine.tree}/.venv\n")


def test_a_place_that_cannot_be_written(machine: Machine) -> None:
    status, _, err = machine.run("check", ROCELAB_VENV="/proc/rocelab")
    assert status == 3
    assert err == (
        "rocelab: /proc/rocelab is not up to date and you may not write it; "
        "run ./rocelab as its owner or set ROCELAB_VENV\n"
    )


def test_an_old_python_is_refused(machine: Machine) -> None:
    machine.put("python", "#!/bin/sh\nexit 1\n")
    status, _, err = machine.run("check")
    assert status == 3
    assert err == (
        f"rocelab: ROCELAB_PYTHON={machine.programs}/python is not a Python 3.10 or later with the module venv\n"
    )


def test_nothing_temporary_is_left(machine: Machine, tmp_path: Path) -> None:
    before = set(os.listdir(tmp_path))
    machine.run("check")
    machine.run("check", ROCELAB_VENV="/proc/rocelab")
    assert set(os.listdir(tmp_path)) == before
