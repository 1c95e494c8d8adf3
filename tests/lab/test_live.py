"""The live clock for real: kernels of hosts, TCP, ECN, a program of one's own, the shell, and a clean end."""

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.lab.conftest import Start
from tests.lab.runs import ROOT, skip_without_lab

pytestmark = pytest.mark.alone

FACTOR = 5000
"""100 Gb/s are 20 Mb/s: a machine that is busy with other things still holds it."""

SCENARIO = """
title: Four hosts
fabric:
  topology: {kind: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 2}
  qos: {ecn: {0: {kmin: 30KB, kmax: 60KB, pmax: 1.0}}}
workload:
  - {kind: all-reduce, size: 256KiB}
"""

BRIDGED = """
title: Four hosts on a learning switch
fabric:
  topology: {kind: dumbbell, left: 2, right: 2}
  addressing: bridged
controller: {app: tests/control/apps/learning_switch_13.py}
workload:
  - {kind: all-reduce, size: 256KiB}
"""

SEND_UDP = """
import sys
from scapy.all import IP, UDP, Raw, send
send(IP(src="10.0.0.1", dst="10.1.0.2", tos=0x68) / UDP(sport=1234, dport=9999) / Raw(b"by hand"), count=3, verbose=0)
"""

RECEIVE_UDP = """
import socket
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("0.0.0.0", 9999))
receiver.settimeout(20)
for _ in range(3):
    data, (host, port) = receiver.recvfrom(100)
    print("got", data.decode(), host, port, flush=True)
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)
    file = tmp_path / "four.yaml"
    file.write_text(SCENARIO)
    (tmp_path / "send.py").write_text(SEND_UDP)
    (tmp_path / "receive.py").write_text(RECEIVE_UDP)
    return file


def session(scenario: Path, lines: str, *options: str) -> str:
    """Carry out the lines of a script in a live session; return what was printed, its exit status being 0."""
    skip_without_lab()
    status, output = any_session(scenario, lines, *options)
    assert status == 0, output
    return output


def any_session(scenario: Path, lines: str, *options: str) -> tuple[int, str]:
    script = scenario.with_name("script")
    script.write_text(lines)
    command = [sys.executable, "-m", "testbed", "live", str(scenario), "--exec", str(script)]
    done = subprocess.run(
        [*command, "--rate-factor", str(FACTOR), *options],
        cwd=ROOT, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
    )  # fmt: skip
    return done.returncode, done.stdout


def test_every_host_reaches_every_other_and_a_collective_takes_its_model_time(scenario: Path) -> None:
    output = session(
        scenario,
        "pingall\nh0 ip neigh show\ncollective all-reduce 256K\nworkload\ncounters\n",
    )
    assert "0% dropped (12/12 received)" in output
    assert "lladdr 02:01:00:00:00:01" in output  # the leaf answered ARP
    times = re.findall(r"256KiB +([\d.]+) ", output)
    assert len(times) == 2
    assert times[0] == times[1]  # models alone: to the picosecond
    virtual = json.loads(
        subprocess.run(
            [sys.executable, "-m", "testbed", "run", str(scenario), "--json", "--out", str(scenario.with_name("run"))],
            cwd=ROOT, capture_output=True, text=True, check=True,
        ).stdout
    )  # fmt: skip
    assert f"{virtual['collectives'][0]['time_ps'] / 1e6:.3f}" == times[0]


def test_ipv6_works_too(scenario: Path) -> None:
    output = session(scenario, "h0 ping -c 2 h3\n", "--set", "fabric.ip=ipv6")
    assert "(fd00:1::2)" in output or "fd00:1::" in output
    assert " 0% packet loss" in output


def test_a_ping_takes_the_models_time_when_the_verdict_is_ok(scenario: Path) -> None:
    """Each way four links and three switches: 4 x (98 + 24 B at 100 Gb/s + 500 ns) + 3 x 800 ns, times the factor."""
    output = session(scenario, "h0 ping -q -c 3 -i 1.2 h3\n", "--rate-factor", "100000")
    assert "live clock, factor 100,000: ok" in output
    one_way_ns = 4 * ((98 + 24) * 8 / 100 + 500) + 3 * 800
    found = re.search(r"rtt min/avg/max/mdev = ([\d.]+)/", output)
    assert found is not None, output
    assert float(found[1]) == pytest.approx(2 * one_way_ns * 100_000 / 1e6, rel=0.1)


def test_a_clock_that_the_machine_cannot_hold_is_said_to_be_invalid(scenario: Path) -> None:
    """At factor 20 the machine is overloaded by far, at 300,000 it sleeps; the models are exact either way."""
    found = {}
    for factor in (20, 300_000):
        out = scenario.with_name(f"run{factor}")
        done = ["run", str(scenario), "--set", "workload.0.size=64KiB", "--quiet", "--out", str(out)]
        command = [sys.executable, "-m", "testbed", *done, "--clock", "live", "--rate-factor", str(factor)]
        subprocess.run(command, cwd=ROOT, check=True, timeout=120)
        found[factor] = json.loads((out / "summary.json").read_text())
    overloaded, slow = found[20]["live"], found[300_000]["live"]
    assert (overloaded["verdict"], slow["verdict"]) == ("invalid", "ok")
    assert overloaded["safe_rate_factor"] > 10 * overloaded["rate_factor"]
    assert found[20]["collectives"][0]["time_ps"] == found[300_000]["collectives"][0]["time_ps"]


def test_hosts_on_a_learning_switch_find_each_other(scenario: Path) -> None:
    scenario.write_text(BRIDGED)
    output = session(scenario, "h0 ping -c 2 h3\nh0 ip neigh show\n")
    assert " 0% packet loss" in output
    assert "10.1.0.2 dev h0-eth0 lladdr 02:00:00:00:00:03" in output  # the host itself has answered


def test_tcp_gets_the_scaled_rate_both_ways(scenario: Path) -> None:
    lines = "h3 iperf3 -s -D --pidfile /run/rocelab/iperf\nh0 sleep 0.5\n"
    both = session(scenario, f"{lines}h0 iperf3 -c h3 -t 4 -O 1 -J\nh0 iperf3 -c h3 -R -t 4 -O 1 -J\n")
    results = [json.loads(text) for text in re.findall(r"^\{$.*?^\}$", both, re.MULTILINE | re.DOTALL)]
    assert len(results) == 2
    for result in results:
        rate_bps = result["end"]["sum_received"]["bits_per_second"]
        assert rate_bps == pytest.approx(100e9 / FACTOR, rel=0.1)


def test_marks_of_modelled_queues_reach_tcp(scenario: Path) -> None:
    """Two senders fill the link to one receiver: its queue marks, and the receiver's kernel counts the marks.

    One of them is on the receiver's leaf, so that only there they meet, whatever spine the other's port is hashed to.
    """
    output = session(
        scenario,
        "h3 iperf3 -s -D -p 5201\nh3 iperf3 -s -D -p 5202\nh3 sleep 0.5\n"
        "h2 iperf3 -c h3 -p 5202 -t 5 >/dev/null &\n"
        "h0 iperf3 -c h3 -p 5201 -t 4 >/dev/null\n"
        "h3 nstat -asz IpExtInCEPkts\n"
        "h0 nstat -asz TcpExtTCPDeliveredCE\n"
        "queue leaf1-eth2\n",
    )
    seen = int(re.search(r"IpExtInCEPkts +(\d+)", output)[1])  # type: ignore[index]
    told = int(re.search(r"TcpExtTCPDeliveredCE +(\d+)", output)[1])  # type: ignore[index]
    marked = int(re.search(r"^ +0 +\S+ +\S+ +[\d,]+ +([\d,]+)", output, re.MULTILINE)[1].replace(",", ""))  # type: ignore[index]
    assert marked > 0
    assert 0 < seen <= marked
    assert told > 0


def test_a_script_of_ones_own_in_a_host(scenario: Path) -> None:
    folder = scenario.parent
    output = session(
        scenario,
        f"h3 {sys.executable} {folder}/receive.py >{folder}/got &\n"
        f"h0 sleep 1; {sys.executable} {folder}/send.py\n"
        "h3 sleep 1\n"
        "queue leaf1-eth2\n",
    )
    assert (folder / "got").read_text().splitlines() == ["got by hand 10.0.0.1 1234"] * 3
    assert re.search(r"^ +3 .* 3 +0 +0", output, re.MULTILINE), output  # DSCP 26: in RoCE's queue


def test_a_link_goes_down_and_comes_back(scenario: Path) -> None:
    output = session(
        scenario,
        "h0 ping -c 1 -W 2 h1\nlink h1 leaf0 down\nh0 ping -c 1 -W 1 h1\nlink h1 leaf0 up\nh0 ping -c 1 -W 2 h1\n",
    )
    assert re.findall(r"(\d+)% packet loss", output) == ["0", "100", "0"]


def test_faults_captures_and_policies(scenario: Path) -> None:
    capture = scenario.with_name("x.pcapng")
    output = session(
        scenario,
        f"capture leaf0-eth1 {capture}\n"
        "fault drop h0-leaf0 nth=2\nfault\ncollective all-reduce 64K\nfault clear\n"
        "capture leaf0-eth1 stop\n"
        "policy adaptive-ecn kmin=50KB\npolicy\npolicy none\npolicy\nstatus\nwatch\n",
    )
    assert output.count("drop h0-eth0") == 2
    in_one_line = " ".join(output.split())
    without_spaces = "".join(output.split())  # a long path is wrapped wherever it meets the margin
    assert int(re.search(r"x\.pcapng:([\d,]+)frames", without_spaces)[1].replace(",", "")) > 20  # type: ignore[index]
    assert capture.stat().st_size > 1000
    assert "adaptive-ecn looks at the fabric" in in_one_line
    assert "live clock, factor 5,000" in in_one_line
    assert "leaf0-eth1" in output.rsplit("watch", 1)[1]


def test_what_cannot_be_done_is_said_and_fails_the_script(scenario: Path) -> None:
    lines = (
        "queue leaf9-eth1\nquueue leaf0-eth1\ncollective all-redduce 1M\nfault drop leaf0-eth1 nth=0\n"
        "link leaf0 leaf1 down\npolicy adaptive-ecm\ncapture leaf0-eth1 stop\nlink h0 leaf0 up\n"
    )
    status, output = any_session(scenario, lines)
    assert status == 1
    for said in (
        "expected a port of a switch, found 'leaf9-eth1'",
        "unknown command 'quueue'; did you mean queue?",
        "all-reduce",
        "faults.0.nth",
        "expected a link, found 'leaf0-leaf1'",
        "adaptive-ecn",
        "nothing is captured at leaf0-eth1",
        "h0-leaf0 is not down",
    ):
        assert said in output


def handed(root: Path, lines: str) -> tuple[str, ...]:
    """Put the scenario and a script into the place that a test's runs see; return the command's words."""
    (root / "tmp" / "four.yaml").write_text(SCENARIO)
    (root / "tmp" / "script").write_text(lines)
    return "live", "/tmp/four.yaml", "--exec", "/tmp/script", "--rate-factor", str(FACTOR)


def test_it_works_for_everybody_and_leaves_nothing(start: Start, root: Path) -> None:
    process = start(*handed(root, "h0 ping -c 1 h3\nh0 id -u\n"))
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert "1 received, 0% packet loss" in output
    assert "live clock, factor 5,000" in errors


def test_killed_in_the_middle_it_leaves_nothing(start: Start, root: Path) -> None:
    """The fixture `mark` sees to it that no process is left."""
    process = start(*handed(root, "h0 ping -i 0.2 h3\n"))
    assert process.stdout is not None
    while "icmp_seq=2" not in process.stdout.readline():
        assert process.poll() is None
    process.kill()
    process.communicate()


def test_what_a_host_does_to_itself_or_what_a_user_mistypes_ends_nothing(scenario: Path) -> None:
    lines = (
        "h1 ip link del h1-eth0\n"
        "source missing\n"
        "fault pause-storm h2-eth0 at=1us until=2us\n"
        "capture leaf0-eth1 /dev/full\ncapture leaf0-eth1 stop\n"
        "collective all-reduce 64GiB chunk=64KiB\n"
        "h0 ping -c 1 h3\n"
    )
    status, output = any_session(scenario, lines, "--set", "fabric.qos.pfc={}")
    assert status == 1
    assert " 0% packet loss" in output
    assert "Traceback" not in output


def test_a_collective_after_a_while_of_nothing_begins_on_time(scenario: Path) -> None:
    output = session(scenario, "sh sleep 2\ncollective all-reduce 64K\nstatus\n")
    worst_ms = float(re.search(r"events at most ([\d.]+) ms late", " ".join(output.split()))[1])  # type: ignore[index]
    assert worst_ms < 1000


class Terminal:
    """A live session on a pseudo-terminal, as a user has it."""

    def __init__(self, scenario: Path) -> None:
        self.text = ""
        self.pid, self._file = pty.fork()
        if self.pid == 0:
            os.chdir(ROOT)
            os.environ["TERM"] = "xterm"
            os.environ["HOME"] = str(scenario.parent)
            command = [sys.executable, "-m", "testbed", "live", str(scenario), "--rate-factor", str(FACTOR)]
            os.execv(sys.executable, command)

    def wait_for(self, pattern: str, patience_s: float = 60) -> None:
        """Read until `pattern` has come."""
        deadline = time.monotonic() + patience_s
        while not re.search(pattern, self.text):
            assert time.monotonic() < deadline, f"{pattern!r} did not come; there is: {self.text!r}"
            if select.select([self._file], [], [], 0.5)[0]:
                try:
                    self.text += os.read(self._file, 65536).decode(errors="replace")
                except OSError:
                    break
        assert re.search(pattern, self.text), self.text

    def type(self, keys: str) -> None:
        """Forget what has come so far, and type."""
        self.text = ""
        os.write(self._file, keys.encode())

    def status(self) -> int:
        """Wait for the end; return the exit status."""
        _, status = os.waitpid(self.pid, 0)
        os.close(self._file)
        return os.waitstatus_to_exitcode(status)


def test_the_shell_on_a_terminal(scenario: Path) -> None:
    skip_without_lab()
    terminal = Terminal(scenario)
    terminal.wait_for("rocelab> ")
    terminal.type("help\n")
    terminal.wait_for("Of the fabric:(.|\n)*collective(.|\n)*pingall(.|\n)*rocelab> ")
    terminal.type("h0 ping -i 0.2 h3\n")
    terminal.wait_for("icmp_seq=3")
    terminal.type("\x03")
    terminal.wait_for("packets transmitted(.|\n)*rocelab> ")
    terminal.type("watch\n")
    terminal.wait_for("of link(.|\n)*of link")
    terminal.type("\x03")
    terminal.wait_for("rocelab> ")
    terminal.type("collective all-reduce 64K\n")
    terminal.wait_for("64KiB(.|\n)*rocelab> ")
    terminal.type("\x04")
    assert terminal.status() == 0
