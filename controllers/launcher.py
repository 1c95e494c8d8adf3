"""The controller's process: loads one Ryu application, listens for switches and lives as long as the testbed does.

    python -m controllers.launcher --plan plan.json --channel /run/x/channel --listen 127.0.0.1:6653 l3-ecmp
    python -m controllers.launcher --plan plan.json --channel /run/x/channel --listen 127.0.0.1:6653 my_app.py

APP is the name of one of the project's own (a file of ``controllers/apps``), or the path of a Python file with a
RyuApp class: any Ryu application, unmodified. Neither ``ryu-manager`` nor ``osken-manager`` is used: the first does not
start on today's Pythons, the second no longer exists.

With ``--policy`` it runs a policy too (`controllers.policy_host`), with ``--model-time`` it speaks to the switches only
when the testbed says so (`controllers.exchange`).

It ends with status 0 when the testbed says so or hangs up, and with 1, the traceback and the reason on standard error
when anything fails: the file, a handler, a green thread, a switch that refuses a message.
"""

import argparse
import contextlib
import importlib
import inspect
import json
import logging
import platform
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from controllers.channel import Channel, ChannelClosed, Failure, Hello
from controllers.fabric import Fabric
from controllers.failures import report
from controllers.openflow_log import OpenFlowLog
from controllers.policy.catalogue import APPS, app_names, import_file, is_file, unknown_name
from controllers.policy_host import PolicyHost, load_policy
from controllers.ryu_compat import Flavour, use_ryu
from testbed.errors import MachineError, RocelabError, ScenarioError
from testbed.fabric.plan import FabricPlan


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the controller; return its exit status."""
    options = _options(arguments)
    try:
        flavour = use_ryu()
    except RocelabError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
    channel = Channel.connect(options.channel)
    try:
        status, reason = _control(options, flavour, channel)
    except RocelabError as error:
        status, reason = error.exit_status, str(error)
    except (Exception, SystemExit) as error:
        status, reason = 1, f"{options.app}, while it was loaded, {report(error, _source_file(options.app))}"
    if reason is not None:
        print(reason, file=sys.stderr, flush=True)
        _tell_failure(channel, reason)
    return status


def _tell_failure(channel: Channel, reason: str) -> None:
    with contextlib.suppress(ChannelClosed):  # where nobody is left to tell, the reason stands on standard error
        channel.send(Failure(reason))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m controllers.launcher", description="Run a Ryu application.")
    parser.add_argument("--plan", type=Path, required=True, help="the fabric's plan, as JSON")
    parser.add_argument("--channel", type=Path, required=True, help="the unix socket at which the testbed listens")
    parser.add_argument("--listen", required=True, metavar="HOST:PORT", help="where switches connect")
    parser.add_argument("--policy", type=json.loads, metavar="JSON", help="a policy's kind and its options")
    parser.add_argument("--model-time", action="store_true", help="speak to the switches only when told to")
    parser.add_argument("--openflow-log", type=Path, metavar="FILE", help="write down all OpenFlow messages")
    parser.add_argument("app", help=f"{', '.join(app_names())}, or the path of a Python file with a RyuApp")
    return parser.parse_args(arguments)


def _control(options: argparse.Namespace, flavour: Flavour, channel: Channel) -> tuple[int, str | None]:
    """Start everything; wait for the end; return the exit status and the reason, if any."""
    plan = Fabric.load(options.plan)
    policy = _policy(options.policy, plan, options.app)
    host, _, port = options.listen.rpartition(":")
    _check_listen(host, int(port))
    hub = importlib.import_module("ryu.lib.hub")
    manager = importlib.import_module("ryu.base.app_manager").AppManager.get_instance()
    importlib.import_module("ryu.controller.controller")  # registers the options set next
    importlib.import_module("ryu.cfg").CONF(
        args=["--ofp-listen-host", host, "--ofp-tcp-listen-port", port], project="rocelab", default_config_files=[]
    )
    supervisor_class = importlib.import_module("controllers.supervisor").Supervisor
    handshake = importlib.import_module("ryu.controller.ofp_handler")  # by its own name, which with os-ken is another
    manager.load_apps([handshake.__name__, load_app(options.app).__name__])
    supervisor = manager.instantiate(
        supervisor_class,
        plan=plan,
        channel=channel,
        log=OpenFlowLog(options.openflow_log),
        model_time=options.model_time,
        policy=policy,
        load_policy=lambda wanted: _policy(wanted, plan, options.app, hub.getcurrent),
    )
    manager.instantiate_apps(**manager.create_contexts())
    hub.sleep(0)  # the listener, a green thread, opens its socket now
    if supervisor.ended.empty():
        sees_flows = policy is not None and policy.sees_flows
        hello = Hello(flavour.name, flavour.version, platform.python_version(), sees_flows)
        hub.spawn(supervisor.serve_testbed, hello)
    status, reason = supervisor.ended.get()
    return status, reason


def _policy(
    wanted: dict[str, Any] | None, plan: FabricPlan, app: str, green_thread: Callable[[], Any] | None = None
) -> PolicyHost | None:
    if wanted is None:
        return None
    given = dict(wanted)
    return load_policy(given.pop("kind"), given, plan, app, green_thread=green_thread)


def _check_listen(host: str, port: int) -> None:
    """Raise MachineError where the address is taken: Ryu, which opens it later in a green thread, would only log it."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise MachineError(f"cannot listen for switches on {host}:{port}: {error.strerror}") from None


def _source_file(app: str) -> str:
    own = APPS / f"{app.replace('-', '_')}.py"
    return str(own if app in app_names() else Path(app).absolute())


def load_app(name: str) -> ModuleType:
    """Import the application `name` and return its module, which has a RyuApp class. Raises ScenarioError."""
    if name in app_names():
        return importlib.import_module(f"controllers.apps.{name.replace('-', '_')}")
    if not is_file(name):
        raise ScenarioError(unknown_name("controller application", name, app_names()))
    path = Path(name)
    if not path.is_file():
        raise ScenarioError(f"controller application {name}: no such file")
    module = import_file(path, "controller application")
    if not _app_classes(module):
        raise ScenarioError(
            f"controller application {name}: expected a class derived from ryu.base.app_manager.RyuApp, found none"
        )
    return module


def _app_classes(module: ModuleType) -> list[Any]:
    ryu_app = importlib.import_module("ryu.base.app_manager").RyuApp
    return [
        member
        for _, member in inspect.getmembers(module, inspect.isclass)
        if issubclass(member, ryu_app) and member.__module__ == module.__name__
    ]


if __name__ == "__main__":
    sys.exit(main())
