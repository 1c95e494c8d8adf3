"""Runs a scenario on a fabric that is tampered with before the first packet, as no command of a user's can.

    python -m tests.lab.tampered TAMPERING SCENARIO DIRECTORY

is ``rocelab run SCENARIO --out DIRECTORY --quiet`` but for one of `TAMPERINGS`.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from testbed import lab, run
from testbed.cli import main as command
from testbed.fabric.plan import FabricPlan
from testbed.lab import Lab
from testbed.outside import openvswitch
from testbed.outside.controller import ControllerProcess


def without_route(plan: FabricPlan) -> None:
    """Take the route to the last NIC from its leaf: what arrives there for it matches only the table miss."""
    nic = plan.nics[-1]
    openvswitch.ofctl("del-flows", plan.leaf_of(nic.name).name, f"ip,nw_dst={nic.ipv4}")


def with_a_stray_frame(plan: FabricPlan) -> None:
    """Have a switch send out a frame that nobody sent in."""
    frame = bytes.fromhex("ffffffffffff02000000000988b6") + bytes(46)
    openvswitch.ofctl("packet-out", plan.switches[0].name, f"in_port=controller,packet={frame.hex()},actions=output:1")


def nothing(plan: FabricPlan) -> None:
    """The fabric stays as it is."""


def deaf_controller() -> None:
    """Have the controller listen where no switch calls, and patience end soon."""

    class Deaf(ControllerProcess):
        def __init__(self, app: str, plan: FabricPlan, directory: Path, *, listen: str, **options: Any) -> None:
            super().__init__(app, plan, directory, listen=listen.rsplit(":", 1)[0] + ":6654", **options)

    vars(lab).update(ControllerProcess=Deaf, _READY_TIMEOUT_S=2)


TAMPERINGS: dict[str, Callable[[FabricPlan], None]] = {
    "without-route": without_route,
    "stray-frame": with_a_stray_frame,
    "deaf-controller": nothing,
}


def main() -> None:
    tampering, scenario, directory = sys.argv[1:]
    if tampering == "deaf-controller":
        deaf_controller()
    as_planned = lab.fabric_up

    @contextmanager
    def tampered(plan: FabricPlan, *arguments: Any, **options: Any) -> Iterator[Lab]:
        with as_planned(plan, *arguments, **options) as up:
            TAMPERINGS[tampering](plan)
            yield up

    # The sandbox is a fork of this process, so what is replaced here is replaced there.
    vars(run).update(fabric_up=tampered)
    command.main(["run", scenario, "--out", directory, "--quiet"])


if __name__ == "__main__":
    main()
