"""What a run needs of the machine: what is said when it is not there, and that this machine's own is found."""

import errno
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from testbed.errors import MachineError
from testbed.outside import machine
from testbed.outside.libraries import LIBRARIES, import_outcomes, library_checks, python_check, read_pins
from testbed.outside.machine import package_check, refusal, require_machine, tun_check

ROOT = Path(__file__).parents[2]


def program(folder: Path, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)


# --- programs --------------------------------------------------------------------------------------------------------


def test_programs_in_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program(tmp_path / "a", "one")
    program(tmp_path / "b", "two")
    monkeypatch.setenv("PATH", f"{tmp_path}/a:{tmp_path}/b")
    check = package_check("pair", ["one", "two"])
    assert (check.name, check.ok, check.remedy) == ("pair", True, "")
    assert check.found == f"one, two in {tmp_path}/a, {tmp_path}/b"


def test_missing_program_names_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program(tmp_path, "one")
    monkeypatch.setenv("PATH", str(tmp_path))
    check = package_check("pair", ["one", "no-such-program"])
    assert not check.ok
    assert check.found == "not found: no-such-program"
    assert check.remedy == "sudo apt-get install --no-install-recommends pair"


def test_program_outside_path_is_no_missing_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program(tmp_path / "sbin", "daemon")
    monkeypatch.setattr(machine, "_SYSTEM_DIRECTORIES", str(tmp_path / "sbin"))
    monkeypatch.setenv("PATH", str(tmp_path))
    check = package_check("package", ["daemon"])
    assert check.found == f"{tmp_path}/sbin/daemon is not in PATH"
    assert check.remedy == f'export PATH="$PATH:{tmp_path}/sbin"'


def test_require_machine_names_everything_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(machine, "_SYSTEM_DIRECTORIES", str(tmp_path))
    with pytest.raises(MachineError) as caught:
        require_machine()
    message = str(caught.value)
    for package in ("openvswitch-switch", "mininet", "iproute2", "net-tools"):
        assert f"\n    sudo apt-get install --no-install-recommends {package}\n" in f"{message}\n"
    assert "ovs-vswitchd, ovsdb-server, ovs-vsctl, ovs-ofctl, ovs-appctl, ovsdb-tool" in message
    assert caught.value.exit_status == 3


def test_require_machine_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise AssertionError("started a process")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr(machine, "tun_check", lambda: tun_check(os.devnull))
    monkeypatch.setattr(machine, "_PROGRAMS", {"dash": ("sh",)})
    require_machine()


# --- /dev/net/tun ----------------------------------------------------------------------------------------------------


def test_tun_absent(tmp_path: Path) -> None:
    check = tun_check(str(tmp_path / "tun"))
    assert (check.ok, check.found, check.remedy) == (False, "No such file or directory", "sudo modprobe tun")


def test_tun_closed_to_this_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    device = tmp_path / "tun"
    device.touch(mode=0o600)
    refuse_open(monkeypatch, errno.EACCES)
    monkeypatch.setattr(os, "access", lambda *_arguments: False)
    check = tun_check(str(device))
    assert check.found == "Permission denied (its mode is 0600)"
    assert check.remedy == f"sudo chmod 0666 {device}"


def test_tun_refused_by_a_container(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    device = tmp_path / "tun"
    device.touch(mode=0o666)
    refuse_open(monkeypatch, errno.EPERM)
    check = tun_check(str(device))
    assert check.found == "Operation not permitted"
    assert "--device /dev/net/tun" in check.remedy


def refuse_open(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse(path: str, _flags: int) -> int:
        raise PermissionError(number, os.strerror(number), path)

    monkeypatch.setattr(os, "open", refuse)


# --- the namespaces --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "value", "command"),
    [
        (
            "kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        ("kernel/unprivileged_userns_clone", "0", "sudo sysctl -w kernel.unprivileged_userns_clone=1"),
        ("user/max_user_namespaces", "0", "sudo sysctl -w user.max_user_namespaces=15000"),
        ("user/max_net_namespaces", "0", "sudo sysctl -w user.max_net_namespaces=15000"),
    ],
)
def test_the_setting_that_refuses_is_named(tmp_path: Path, setting: str, value: str, command: str) -> None:
    path = tmp_path / setting
    path.parent.mkdir()
    path.write_text(f"{value}\n")
    found, remedy = refusal("unshare: No", tmp_path, root=False)
    assert found == f"unshare: No ({setting.replace('/', '.')} is {value})"
    assert remedy == command


def test_a_setting_that_allows_is_not_blamed(tmp_path: Path) -> None:
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel/apparmor_restrict_unprivileged_userns").write_text("0\n")
    (tmp_path / "kernel/unprivileged_userns_clone").write_text("1\n")
    assert "container" in refusal("unshare: No", tmp_path, root=False)[0]


def test_root_is_not_told_of_settings_for_ordinary_users(tmp_path: Path) -> None:
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel/apparmor_restrict_unprivileged_userns").write_text("1\n")
    assert "apparmor_restrict" not in refusal("unshare: No", tmp_path, root=True)[0]


def test_a_kernel_that_allows_no_network_namespaces() -> None:
    """For real, in a user namespace of its own, whose limit touches nobody else."""
    code = "from testbed.outside.machine import sandbox_checks; print(*sandbox_checks(), sep='\\n')"
    script = f'echo 0 >/proc/sys/user/max_net_namespaces && exec "{sys.executable}" -c "{code}"'
    done = subprocess.run(
        ["unshare", "-Ur", "sh", "-c", script],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    if done.returncode != 0:
        pytest.skip(f"no user namespace to try it in: {done.stderr.strip()}")
    assert "user.max_net_namespaces is 0" in done.stdout
    assert "sudo sysctl -w user.max_net_namespaces=15000" in done.stdout
    assert "No space left on device" in done.stdout  # the kernel's own words: what it says when a limit is reached


# --- Python ----------------------------------------------------------------------------------------------------------


def test_this_python_is_one_that_rocelab_runs_on() -> None:
    assert python_check().ok


def test_libraries_are_the_projects_dependencies() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    dependencies = text.split("\ndependencies = [")[1].split("\n]")[0]
    names = {canonicalize_name(name) for name in re.findall(r'"([A-Za-z0-9.-]+)==', dependencies)}
    assert names == set(LIBRARIES)


def test_every_library_is_pinned_on_every_python() -> None:
    lock = (ROOT / "requirements" / "run.lock").read_text()
    for python in ("3.10", "3.11", "3.12", "3.13"):
        pins = read_pins(lock, {"python_version": python, "python_full_version": f"{python}.1"})
        assert LIBRARIES.keys() <= pins.keys()


def test_the_locks_agree() -> None:
    folder = ROOT / "requirements"
    run, test = (read_pins((folder / f"{name}.lock").read_text()) for name in ("run", "test"))
    assert run.items() <= test.items()
    assert {"ryu", "pytest", "hypothesis", "ruff", "mypy"} <= test.keys() - run.keys()


def test_pins_follow_their_markers() -> None:
    lock = (
        "a==1 ; python_version < '3.11' \\\n    --hash=sha256:00\na==2 ; python_version >= '3.11' \\\n# b==3\nC_d==4\n"
    )
    assert read_pins(lock, {"python_version": "3.10"}) == {"a": "1", "c-d": "4"}
    assert read_pins(lock, {"python_version": "3.13"}) == {"a": "2", "c-d": "4"}


def test_imports_are_tried_to_the_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "crashing_module.py").write_text("import os\nos._exit(41)\n")
    (tmp_path / "broken_module.py").write_text("raise OSError('libx.so: not found')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert import_outcomes(["crashing_module", "no_such_module", "json", "broken_module"]) == {
        "crashing_module": "its import ends the process (status 41)",
        "no_such_module": "ModuleNotFoundError: No module named 'no_such_module'",
        "json": "ok",
        "broken_module": "OSError: libx.so: not found",
    }


def test_libraries_work_here() -> None:
    checks = {check.name: check for check in library_checks()}
    assert checks.keys() == LIBRARIES.keys()
    assert [check for check in checks.values() if check.required and not check.ok] == []
    assert checks["numpy"].found.startswith(version("numpy"))
