"""The controller's process: what it says when all goes well, and the exact error for each way to fail.

Each broken application in ``controller_apps/`` stands beside the error that it must give.
"""

import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

from controllers.channel import Counts
from controllers.policy import Telemetry
from testbed.errors import RocelabError, ScenarioError, TestbedError
from testbed.fabric.build import build_plan
from testbed.fabric.plan import FabricPlan
from testbed.outside.controller import ControllerProcess
from testbed.scenario.model import FabricOptions
from tests.conftest import GoldenCheck
from tests.controllers.lab import FLAVOURS, LEAF_SPINE, ROOT, in_lab, run_app, skip_without

Golden: TypeAlias = Callable[[str, str], None]
APPS = Path(__file__).parent / "controller_apps"
_FOREIGN_FRAME = re.compile(r'  \|   File "(?!tests/).*\n(?:  \|     .*\n)*')
_MARKS = re.compile(r"  \| +[\^~]+\n")


@pytest.fixture(params=FLAVOURS)
def flavour(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    skip_without(request.param, switches=False)
    monkeypatch.setenv("ROCELAB_RYU", request.param)
    return str(request.param)


@pytest.fixture(scope="module")
def plan() -> FabricPlan:
    return build_plan(FabricOptions.model_validate({"topology": LEAF_SPINE}))


@contextmanager
def free_address() -> Iterator[str]:
    """Hold a port of this machine that nobody listens on; the controller can, as the holder does not listen."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{holder.getsockname()[1]}"


@pytest.fixture
def assert_golden(golden: GoldenCheck) -> Golden:
    """Compare an error with its golden text; paths are the tree's, and lines of other packages are left out."""

    def check(name: str, text: str) -> None:
        text = _MARKS.sub("", _FOREIGN_FRAME.sub("", text.replace(f"{ROOT}/", "") + "\n"))
        golden(APPS / f"{name}.txt", text)

    return check


@contextmanager
def running(app: str, plan: FabricPlan, directory: Path) -> Iterator[ControllerProcess]:
    """Run a controller that has said hello."""
    with free_address() as address:
        controller = ControllerProcess(app, plan, directory, listen=address)
        controller.start()
        try:
            while controller.hello is None:
                controller.check()
            yield controller
        finally:
            controller.stop()


def failure(app: str, plan: FabricPlan, directory: Path) -> str:
    """Return the error of a controller to which no switch connects."""
    with free_address() as address:
        controller = ControllerProcess(app, plan, directory, listen=address)
        controller.start()
        try:
            with pytest.raises(RocelabError) as caught:
                controller.wait_ready()
        finally:
            controller.stop()
    return f"{caught.type.__name__}: {caught.value}"


@pytest.mark.usefixtures("flavour")
@pytest.mark.parametrize("name", ["raises_at_import", "exits_at_once", "no_app_class", "green_thread_dies"])
def test_broken_application(assert_golden: Golden, name: str, plan: FabricPlan, tmp_path: Path) -> None:
    assert_golden(name, failure(f"{APPS.relative_to(ROOT)}/{name}.py", plan, tmp_path))


@pytest.mark.parametrize("name", ["raises_in_handler", "refused_flow"])
def test_broken_application_with_a_switch(assert_golden: Golden, name: str, flavour: str) -> None:
    found = in_lab(run_app, flavour, app=f"{APPS.relative_to(ROOT)}/{name}.py")
    assert_golden(name, found["error"])


def test_killed_during_the_run(assert_golden: Golden, flavour: str) -> None:
    found = in_lab(run_app, flavour, app=f"{APPS.relative_to(ROOT)}/killed_by_packet.py", packet_in=True)
    assert_golden("killed_by_packet", found["error"])


def test_unmodified_student_application(flavour: str) -> None:
    found = in_lab(run_app, flavour, app=f"{APPS.relative_to(ROOT)}/learning_switch.py", packet_in=True)
    flow_mods, group_mods, packet_outs, barriers, packet_ins = found["status"]
    assert (flow_mods, group_mods, barriers) == (1, 0, 1)
    assert packet_ins == packet_outs == 1


@pytest.mark.parametrize(
    ("name", "app"), [("missing_file", "my_app.py"), ("unknown_name", "l3-ecm"), ("far_name", "routing")]
)
def test_application_that_does_not_exist(
    assert_golden: Golden, name: str, app: str, plan: FabricPlan, tmp_path: Path
) -> None:
    assert_golden(name, failure(app, plan, tmp_path))


@pytest.mark.usefixtures("flavour")
def test_no_switch_connects(assert_golden: Golden, plan: FabricPlan, tmp_path: Path) -> None:
    with running("l3-ecmp", plan, tmp_path) as controller, pytest.raises(TestbedError) as caught:
        controller.wait_ready(0.2)
    assert_golden("no_switch", f"{caught.type.__name__}: {caught.value}")


def test_unknown_flavour(
    assert_golden: Golden, plan: FabricPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROCELAB_RYU", "osken")
    assert_golden("unknown_flavour", failure("l3-ecmp", plan, tmp_path))


def test_address_is_taken(assert_golden: Golden, plan: FabricPlan, tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        controller = ControllerProcess("l3-ecmp", plan, tmp_path, listen=f"127.0.0.1:{port}")
        controller.start()
        try:
            with pytest.raises(RocelabError) as caught:
                controller.wait_ready()
        finally:
            controller.stop()
    assert_golden("address_taken", f"{caught.type.__name__}: {caught.value}".replace(str(port), "PORT"))


def test_status_and_stop(plan: FabricPlan, tmp_path: Path, flavour: str) -> None:
    with running("l3-ecmp", plan, tmp_path) as controller:
        assert controller.hello is not None
        assert controller.hello.flavour == flavour
        assert controller.status() == Counts()
    assert controller.log.read_text() == ""
    with pytest.raises(TestbedError, match="not running"):
        controller.check()


def test_ends_when_the_testbed_is_gone(plan: FabricPlan, tmp_path: Path) -> None:
    with running("l3-ecmp", plan, tmp_path) as controller:
        process, channel = controller._process, controller._channel
        assert process is not None
        assert channel is not None
        channel.close()  # as the kernel does when this process ends
        assert process.wait(10) == 0


# --- policies --------------------------------------------------------------------------------------------------------

POLICIES = Path(__file__).parents[1] / "controllers" / "misbehaving"


@contextmanager
def running_policy(kind: str, plan: FabricPlan, directory: Path, **options: object) -> Iterator[ControllerProcess]:
    """Run a controller with a policy, without switches; it has loaded both."""
    with free_address() as address:
        controller = ControllerProcess(
            "l3-ecmp", plan, directory, listen=address, policy={"kind": kind, **options}, model_time=True
        )
        controller.start()
        try:
            controller.wait_hello()
            yield controller
        finally:
            controller.stop()


@pytest.mark.usefixtures("flavour")
def test_a_policy_is_asked_and_answers_in_order(plan: FabricPlan, tmp_path: Path) -> None:
    with running_policy("static", plan, tmp_path, kmin="10KB", kmax="20KB") as controller:
        first = controller.ask_policy("on_start", 0)
        second = controller.ask_policy("on_interval", 50, Telemetry(50, 50).as_json())
        assert controller.hello is not None
        assert not controller.hello.sees_flows
        decision = controller.decision()
        assert (decision.serial, len(decision.actions), decision.kept) == (first, 20, 0)
        assert decision.actions[0] == ["SetEcn", "leaf0-eth1", 3, 10_000, 20_000, 0.2]
        assert (controller.decision().serial, second) == (second, first + 1)


@pytest.mark.usefixtures("flavour")
def test_a_policy_that_sees_flows_says_so(plan: FabricPlan, tmp_path: Path) -> None:
    with running_policy("reroute", plan, tmp_path) as controller:
        assert controller.hello is not None
        assert controller.hello.sees_flows


@pytest.mark.usefixtures("flavour")
def test_a_wrong_option_of_a_users_policy_is_found_at_the_start(plan: FabricPlan, tmp_path: Path) -> None:
    kind = str(POLICIES / "raises.py")
    with pytest.raises(ScenarioError, match="'kmni' is not an option of policy"):  # noqa: SIM117 - what raises is entering
        with running_policy(kind, plan, tmp_path, kmni="3KB"):
            pass


@pytest.mark.usefixtures("flavour")
def test_a_policy_that_raises_ends_the_run_with_one_line(plan: FabricPlan, tmp_path: Path) -> None:
    kind = str((POLICIES / "raises.py").relative_to(ROOT))
    with running_policy(kind, plan, tmp_path) as controller:
        ports = [["leaf0-eth1", "leaf0", 1, "h0", 10**11, 0, 0, 0.0, {}, [], []]]
        controller.ask_policy("on_interval", 60_000_000, [60_000_000, 60_000_000, ports])
        with pytest.raises(TestbedError) as caught:
            controller.decision()
    assert f"{caught.value}\n" == (POLICIES / "raises.txt").read_text()


@pytest.mark.usefixtures("flavour")
@pytest.mark.parametrize("hanging", ["while True: pass", "import time; time.sleep(1000)"])
def test_a_policy_that_hangs_is_found_from_inside_its_process(
    hanging: str, plan: FabricPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = tmp_path / "hangs.py"
    policy.write_text(
        "from controllers.policy import Policy\n\n\nclass Hangs(Policy):\n"
        f"    def on_start(self, fabric):\n        {hanging}\n"
    )
    monkeypatch.setenv("ROCELAB_POLICY_SECONDS", "0.3")
    with running_policy(str(policy), plan, tmp_path) as controller:
        controller.ask_policy("on_start", 0)
        with pytest.raises(TestbedError) as caught:
            controller.decision()
    assert str(caught.value) == f"policy {policy}, on_start at 0ps: {policy}:6: it gave no answer within 0.3 s"
