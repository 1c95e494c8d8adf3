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
from testbed.errors import RocelabError, TestbedError
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
