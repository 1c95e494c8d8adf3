"""What must hold of ``fabric.host``: listed hosts exist, and Soft-RoCE has a fabric that it can work on."""

from __future__ import annotations

from testbed.scenario import wording, wording_hosts
from testbed.scenario.document import KeyPath
from testbed.scenario.draft import Draft, Problem, Problems
from testbed.scenario.hosts import ContainerHosts, SoftRoceHosts

_PATH: KeyPath = ("fabric", "host")


def check_hosts(draft: Draft) -> Problems:
    """Check names and kind of the hosts that are no plain namespaces."""
    options = draft.scenario.fabric.host
    if not isinstance(options, ContainerHosts | SoftRoceHosts) or not draft.sound(*_PATH, "kind"):
        return
    if isinstance(options, SoftRoceHosts):
        yield from _soft_roce(draft)
    if options.hosts == "all" or not draft.names_known or not draft.sound(*_PATH, "hosts"):
        return
    known = [host.name for host in draft.plan.hosts]
    first: dict[str, KeyPath] = {}
    for index, name in enumerate(options.hosts):
        here: KeyPath = (*_PATH, "hosts", index)
        if name not in known:
            yield Problem(here, wording.not_in_fabric("host", name, known))
        elif name in first:
            yield Problem(here, wording.listed_twice(name, first[name]))
        first.setdefault(name, here)


def _soft_roce(draft: Draft) -> Problems:
    fabric = draft.scenario.fabric
    if fabric.ip != "ipv4" and draft.sound("fabric", "ip"):
        yield Problem((*_PATH, "kind"), wording_hosts.soft_roce_needs("ip: ipv4", f"ip: {fabric.ip}"))
    if fabric.addressing != "routed" and draft.sound("fabric", "addressing"):
        needs = wording_hosts.soft_roce_needs("addressing: routed", f"addressing: {fabric.addressing}")
        yield Problem((*_PATH, "kind"), needs)
