"""Hosts that are containers, with a Docker engine that the tests start themselves and an image made of busybox."""

import io
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.runs import ROOT, skip_without_lab

pytestmark = pytest.mark.alone

IMAGE = "rocelab-test-busybox"
BUSYBOX = Path("/bin/busybox")
APPLETS = ("sh", "cat", "env", "hostname", "ls", "nc", "ping", "printf", "sleep", "stty", "id", "kill", "sync")

SCENARIO = f"""
title: Containers and a namespace
fabric:
  topology: {{kind: leaf-spine, leaves: 2, spines: 1, hosts_per_leaf: 2}}
  host: {{kind: container, image: {IMAGE}, hosts: [h0, h3], cpus: 0.5, memory: 64MiB}}
workload:
  - {{kind: flows, flows: [{{source: h0, destination: h3, size: 64KiB}}]}}
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Docker engine of the tests' own; its address. It touches neither the network nor other engines' files."""
    skip_without_lab()
    if os.geteuid() != 0 or shutil.which("dockerd") is None or not BUSYBOX.exists():
        pytest.skip("needs root, dockerd and busybox-static")
    folder = tmp_path_factory.mktemp("engine")
    address = f"unix://{folder}/socket"
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                "dockerd", f"--host={address}", f"--data-root={folder}/data", f"--exec-root={folder}/exec",
                f"--pidfile={folder}/pid", "--iptables=false", "--ip6tables=false", "--bridge=none",
                "--ip-forward=false",
            ],
            stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    try:
        _wait_until(lambda: _docker(address, "version").returncode == 0, "the engine")
        imported = _docker(address, "import", "--change", 'CMD ["/bin/sh"]', "-", IMAGE, stdin=_root_file_system())
        assert imported.returncode == 0, imported.stderr
        yield address
    finally:
        process.terminate()
        process.wait(30)


def _docker(address: str, *arguments: str, stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(["docker", f"--host={address}", *arguments], input=stdin, capture_output=True, timeout=60)


def _root_file_system() -> bytes:
    """Return a tarball with busybox and the names that it is called by."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        archive.add(BUSYBOX.resolve(), "bin/busybox")
        for name in APPLETS:
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            archive.addfile(link)
        for name in ("tmp", "etc", "root"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(folder)
    return made.getvalue()


def _wait_until(done: "object", what: str, patience_s: float = 30) -> None:
    deadline = time.monotonic() + patience_s
    while not done():  # type: ignore[operator]
        assert time.monotonic() < deadline, f"waited for {what}"
        time.sleep(0.1)


def _containers(address: str) -> list[str]:
    return _docker(address, "ps", "--all", "--format", "{{.Names}}").stdout.decode().split()


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "containers.yaml"
    file.write_text(SCENARIO)
    return file


def live(address: str, scenario: Path, lines: str) -> "subprocess.Popen[str]":
    script = scenario.with_name("script")
    script.write_text(lines)
    command = [sys.executable, "-m", "testbed", "live", str(scenario), "--exec", str(script), "--rate-factor", "5000"]
    return subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, "DOCKER_HOST": address}, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def test_commands_run_inside_and_packets_cross_the_fabric(engine: str, scenario: Path) -> None:
    process = live(
        engine,
        scenario,
        "h0 hostname\n"
        "h0 ls /bin\n"
        "h0 cat /sys/class/net/h0-eth0/address\n"
        "h0 cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max\n"
        "h0 ping -c 1 h3\n"
        "h1 ping -c 1 h3\n"
        "h3 nc -l -p 7777 >/tmp/got &\n"
        "h0 sleep 1; printf hello | nc -w 1 h3 7777\n"
        "h3 sleep 1; cat /tmp/got\n"
        "queue leaf1-eth2\n",
    )
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    lines = output.splitlines()
    assert lines[lines.index("rocelab> h0 hostname") + 1] == "h0"
    assert "busybox" in output
    assert "02:00:00:00:00:00" in lines
    assert "67108864" in lines
    assert output.count("1 packets received") + output.count("1 received") == 2
    assert "hello" in output
    assert _containers(engine) == []


def test_a_run_on_the_virtual_clock_has_them_too(engine: str, scenario: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "testbed", "run", str(scenario), "--quiet", "--out", str(scenario.with_name("run"))],
        cwd=ROOT, env={**os.environ, "DOCKER_HOST": engine}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert _containers(engine) == []


def test_killed_it_leaves_no_container(engine: str, scenario: Path) -> None:
    process = live(engine, scenario, "h0 ping h3\n")
    assert process.stdout is not None
    while "seq=2" not in process.stdout.readline():
        assert process.poll() is None
    assert len(_containers(engine)) == 2
    process.kill()
    process.communicate()
    _wait_until(lambda: _containers(engine) == [], "the janitor")


def test_containers_whose_janitor_was_killed_too_go_at_the_next_start(engine: str, scenario: Path) -> None:
    ours = _docker(engine, "create", "--name", "mine", IMAGE, "sleep", "1000")
    orphan = _docker(engine, "run", "--detach", "--label", "rocelab.janitor=999999999 1", IMAGE, "sleep", "1000")
    assert (ours.returncode, orphan.returncode) == (0, 0)
    output, _ = live(engine, scenario, "h0 hostname\n").communicate(timeout=120)
    assert "h0" in output
    assert _containers(engine) == ["mine"]
    _docker(engine, "rm", "mine")


def test_two_at_once_do_not_disturb_each_other(engine: str, scenario: Path) -> None:
    first = live(engine, scenario, "h0 sleep 4\nh0 ping -c 1 h3\n")
    second = live(engine, scenario.with_name(scenario.name), "h0 ping -c 1 h3\n")
    for process in (second, first):
        output, _ = process.communicate(timeout=120)
        assert "0% packet loss" in output
    assert _containers(engine) == []


def run_with(address: str, scenario: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "testbed", "live", str(scenario), *options],
        cwd=ROOT, env={**os.environ, "DOCKER_HOST": address}, capture_output=True, text=True, timeout=60,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


def test_an_image_that_is_not_there(engine: str, scenario: Path) -> None:
    done = run_with(engine, scenario, "--set", "fabric.host.image=no-such-image")
    assert done.returncode == 3
    assert "no image 'no-such-image' (fabric.host.image)\n  docker pull no-such-image" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_no_engine(scenario: Path) -> None:
    done = run_with("unix:///nowhere/docker.sock", scenario)
    assert done.returncode == 3
    assert "no Docker engine answers at unix:///nowhere/docker.sock" in done.stderr
    assert "systemctl start docker" in done.stderr


def test_the_signal_that_ends_it_is_no_error_of_the_containers(engine: str, scenario: Path) -> None:
    process = live(engine, scenario, "h0 ping h3\n")
    assert process.stdout is not None
    while "seq=1" not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert "Traceback" not in output
    assert _containers(engine) == []
