"""``import ryu`` with each flavour, each in a fresh process: the patches are for life."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.controllers.lab import FLAVOURS, ROOT, skip_without

PROGRAM = """
import json, sys
from controllers.ryu_compat import use_ryu
flavour = use_ryu(sys.argv[1])
import ryu
from ryu.base import app_manager
from ryu.controller import ofp_event
from ryu.controller.handler import MAIN_DISPATCHER, set_ev_cls
from ryu.lib import hub
from ryu.lib.packet import ethernet, packet
from ryu.ofproto import ofproto_v1_3, ofproto_v1_5
import ryu.ofproto.ofproto_v1_3
import ryu.ofproto.ofproto_v1_3_parser as parser
import eventlet.patcher
found = {
    "flavour": flavour.name,
    "version": flavour.version,
    "app": app_manager.RyuApp.__name__,
    "modules": [app_manager.__name__, parser.__name__, packet.__name__],
    "same": sys.modules["ryu.ofproto.ofproto_v1_3"] is ofproto_v1_3 is sys.modules[ofproto_v1_3.__name__],
    "spec": app_manager.__spec__.name,
    "hub": hub.HUB_TYPE if hasattr(hub, "HUB_TYPE") else "eventlet",
    "patched": eventlet.patcher.is_monkey_patched("socket"),
}
try:
    import ryu.app.no_such_thing
except ModuleNotFoundError as error:
    found["missing"] = [error.name, str(error)]
print(json.dumps(found))
"""


def look(flavour: str) -> Any:
    skip_without(flavour, switches=False)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error::DeprecationWarning:controllers", "-c", PROGRAM, flavour]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_every_module_is_the_flavours_own(flavour: str) -> None:
    found = look(flavour)
    package = FLAVOURS[flavour]
    assert found["flavour"] == flavour
    assert found["modules"] == [
        f"{package}.base.app_manager",
        f"{package}.ofproto.ofproto_v1_3_parser",
        f"{package}.lib.packet.packet",
    ]
    assert found["same"]
    assert found["spec"] == f"{package}.base.app_manager"


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_green_threads(flavour: str) -> None:
    found = look(flavour)
    assert (found["hub"], found["patched"]) == ("eventlet", True)


def test_app_class() -> None:
    assert look("os-ken")["app"] == "OSKenApp"


def test_what_os_ken_does_not_have() -> None:
    name, text = look("os-ken")["missing"]
    assert name == "ryu.app.no_such_thing"
    assert text == (
        "No module named 'ryu.app.no_such_thing': here os-ken stands in for Ryu, and it has no "
        "os_ken.app.no_such_thing; classic Ryu 4.34 may have it"
    )
