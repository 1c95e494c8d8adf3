"""Hosts with the kernel's own RDMA: Soft-RoCE (rxe) on interfaces in the machine's own network namespace.

The kernel's rxe opens UDP port 4791 in the initial network namespace alone, so an interface in another one gets a
device that sends nothing. So the interface of such a host, a TAP device like any other's, is moved from the sandbox to
the machine's namespace, and the host's shell runs there. Two of these hosts are then one machine with two addresses:

RoCE        leaves by the device's own interface, whatever the routes say of local addresses: rxe asks for routes by
            interface. It crosses the fabric, and is let in with a source that is the machine's own (`accept_local`).
all else    between two such hosts stays in the kernel (`lo`). ibv_rc_pingpong and its like exchange their queue
            pairs' numbers by TCP: that too.

Nothing of the machine is changed, and nothing needs to be removed: addresses, routes (one for each address of the
fabric, by the host's interface), settings and the rxe device hang on the interface, and the interface on the engine's
file. The kernel removes all of it when the engine ends, however it ends.

It needs root; only root may put an interface into the machine's namespace.

References: the kernel's drivers/infiniband/sw/rxe (rxe_net.c: routes by interface, a socket of the initial namespace).
"""

import ipaddress
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.errors import MachineError
from testbed.fabric.plan import FabricPlan, Host, Nic
from testbed.scenario.hosts import HostOptions, SoftRoceHosts

_ROOM_FOR_HEADERS = 476
"""What an interface's MTU has above the RoCE MTU: 1024 bytes go with the usual 1500, as on any Ethernet."""
_LARGEST_HEADERS = 80
"""rxe takes the largest RoCE MTU (256, 512, ... 4096) that leaves this much of the interface's: rxe_mtu_int_to_enum."""


@dataclass(frozen=True, slots=True)
class SoftRoce:
    """Which `hosts` have Soft-RoCE, the file of the machine's network `namespace`, and their interfaces' `mtu`."""

    hosts: tuple[str, ...]
    namespace: int
    mtu: int


def device_name(nic: Nic) -> str:
    """Return the name of the RDMA device of an interface: ``rxe_h0``, of a host's further ones ``rxe_h0_1``."""
    return f"rxe_{nic.host}" if nic.index == 0 else f"rxe_{nic.host}_{nic.index}"


def interface_settings(host: Host) -> dict[str, str]:
    """Return the kernel settings of the host's own interfaces, under their names below /proc/sys."""
    settings = {}
    for nic in host.nics:
        settings[f"net/ipv4/conf/{nic.name}/accept_local"] = "1"
        settings[f"net/ipv4/conf/{nic.name}/rp_filter"] = "0"
        settings[f"net/ipv6/conf/{nic.name}/disable_ipv6"] = "1"
    return settings


def routes(plan: FabricPlan, host: Host) -> list[str]:
    """Return the lines for ``ip -batch``: a route to each other address of the fabric by each of the host's NICs.

    Routes of several hosts to one address stand side by side, told apart by their metric; which of them is taken, a
    program says by naming the interface.
    """
    metric = 1 + plan.nics.index(host.nics[0])
    return [
        f"route add {other.ipv4}/32 dev {nic.name} src {nic.ipv4} metric {metric + nic.index}"
        for nic in host.nics
        for other in plan.nics
        if other is not nic
    ]


def interface_mtu(roce_mtu: int) -> int:
    """Return the MTU of an interface on which rxe has this RoCE MTU, and no larger one."""
    return roce_mtu + min(_ROOM_FOR_HEADERS, roce_mtu + _LARGEST_HEADERS - 1)


@contextmanager
def soft_roce_of(plan: FabricPlan, options: HostOptions | None, mtu: int) -> Iterator[SoftRoce | None]:
    """Yield what the inside of the sandbox needs for the Soft-RoCE hosts of `plan`; None where there are none.

    `mtu` is the largest RDMA payload of a packet. Call outside the sandbox. Raises MachineError where the machine lacks
    something, or has something in the way.
    """
    if not isinstance(options, SoftRoceHosts):
        yield None
        return
    hosts = tuple(host.name for host in plan.hosts) if options.hosts == "all" else options.hosts
    _require_machine(plan)
    namespace = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield SoftRoce(hosts, namespace, interface_mtu(mtu))
    finally:
        os.close(namespace)


def _require_machine(plan: FabricPlan) -> None:
    if os.geteuid() != 0:
        raise MachineError(
            "hosts with Soft-RoCE need root: their interfaces go into the machine's own network namespace\n"
            "  sudo ./rocelab live ..."
        )
    if not _in_initial_namespace():
        raise MachineError(
            "hosts with Soft-RoCE need the machine's own network namespace, as the kernel's rxe sends in no other; "
            "this is another one\n  sudo ./rocelab live ..., outside of containers and of ip netns exec"
        )
    if shutil.which("rdma") is None:
        raise MachineError(
            "hosts with Soft-RoCE need the program rdma\n  sudo apt-get install --no-install-recommends iproute2"
        )
    if not _has_module("rdma_rxe"):
        raise MachineError("hosts with Soft-RoCE need the kernel's module rdma_rxe\n  sudo modprobe rdma_rxe")
    if Path("/proc/sys/net/ipv4/conf/all/rp_filter").read_text().strip() == "1":
        raise MachineError(
            "hosts with Soft-RoCE send to the machine's own addresses, and net.ipv4.conf.all.rp_filter=1 drops that\n"
            "  sudo sysctl -w net.ipv4.conf.all.rp_filter=2"
        )
    require_free_names(plan, _ip("address"))
    require_free_addresses(plan, _ip("-4", "address"), _ip("-4", "route", "show", "table", "all"), _resolvers())


def _ip(*words: str) -> list[dict[str, Any]]:
    done = subprocess.run(["ip", "-json", *words], capture_output=True, text=True, check=True)
    found: list[dict[str, Any]] = json.loads(done.stdout or "[]")
    return found


def _resolvers(file: Path = Path("/etc/resolv.conf")) -> list[str]:
    """Return the addresses of the machine's name servers."""
    lines = [line.split() for line in file.read_text(errors="replace").splitlines()] if file.exists() else []
    return [words[1] for words in lines if len(words) > 1 and words[0] == "nameserver"]


def _in_initial_namespace() -> bool:
    """Whether this is the initial network namespace: the only one that shows settings of the whole machine."""
    return Path("/proc/sys/net/core/dev_weight").exists()


def _has_module(name: str) -> bool:
    built_in = Path(f"/lib/modules/{os.uname().release}/modules.builtin")
    return Path(f"/sys/module/{name}").exists() or (built_in.exists() and f"/{name}.ko" in built_in.read_text())


def require_free_names(plan: FabricPlan, interfaces: Sequence[dict[str, Any]]) -> None:
    """Raise MachineError where one of the machine's `interfaces` (as ``ip -json`` has them) has a host's name."""
    names = {nic.name for nic in plan.nics}
    for interface in interfaces:
        if interface["ifname"] in names:
            raise MachineError(
                f"this machine has an interface {interface['ifname']} already, perhaps of another live fabric with "
                f"Soft-RoCE hosts; there can be one at a time\n  ip link show {interface['ifname']}"
            )


def require_free_addresses(
    plan: FabricPlan,
    interfaces: Sequence[dict[str, Any]],
    routes: Sequence[dict[str, Any]] = (),
    resolvers: Sequence[str] = (),
) -> None:
    """Raise MachineError where the machine uses an address of the fabric's, which would lead into the fabric meanwhile.

    That is one in a network of its `interfaces`, one that a route of its own leads to (other than the default one), or
    that of a name server. `interfaces` and `routes` are as ``ip -json`` has them.
    """
    for network, what in _networks(interfaces, routes, resolvers):
        for nic in plan.nics:
            if ipaddress.ip_address(nic.ipv4) in network:
                raise MachineError(
                    f"{nic.ipv4}, the fabric's address of {nic.name}, is in {network}, {what}; "
                    "a fabric with fewer hosts or leaves may be clear of it"
                )


def _networks(
    interfaces: Sequence[dict[str, Any]], routes: Sequence[dict[str, Any]], resolvers: Sequence[str]
) -> Iterator[tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, str]]:
    for interface in interfaces:
        for address in interface.get("addr_info", ()):
            network = ipaddress.ip_network(f"{address['local']}/{address['prefixlen']}", strict=False)
            yield network, f"a network of this machine (at {interface['ifname']})"
    for route in routes:
        if route["dst"] != "default":
            yield ipaddress.ip_network(route["dst"], strict=False), f"which this machine has a route to ({_way(route)})"
    for resolver in resolvers:
        yield ipaddress.ip_network(resolver.partition("%")[0]), "a name server of this machine (/etc/resolv.conf)"


def _way(route: dict[str, Any]) -> str:
    return " ".join(f"{word} {route[key]}" for word, key in (("via", "gateway"), ("dev", "dev")) if key in route)
