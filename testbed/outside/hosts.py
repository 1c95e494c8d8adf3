"""What a host's kernel needs so that programs in it use the fabric: a route, names, and no help from offloads.

route       all of the fabric behind the host's own interface; with IPv4 the leaf answers ARP for everybody, with
            IPv6 the router is a neighbour that is told to the kernel; on a bridged fabric hosts find each other
names       ``ping h1`` works: /etc/hosts of the sandbox, which has its mounts to itself
offloads    a TAP device has none, so checksums and segments in captures are those on the wire
IPv6        off where RoCE runs over IPv4: a kernel's own discovery traffic is not what is to be watched
TCP         ECN is asked for (`net.ipv4.tcp_ecn`), so that marks reach the applications that run over it
"""

from pathlib import Path

from testbed.fabric.plan import FabricPlan, Host, Nic
from testbed.outside import soft_roce
from testbed.outside.network import Network
from testbed.outside.sandbox import mount_over

_ROUTER_LINK_LOCAL = "fe80::1"
_NETWORK = {4: "10.0.0.0/8", 6: "fd00::/16"}


def connect_kernels(network: Network) -> None:
    """Let the kernels of all hosts of `network`, which is up, reach each other."""
    plan = network.plan
    for host in plan.hosts:
        if network.has_soft_roce(host.name):  # the kernel is the machine's own
            network.configure(host.name, soft_roce.routes(plan, host))
            continue
        network.set_kernel(host.name, _kernel_settings(plan))
        network.configure(host.name, _routes(plan, host))


def _kernel_settings(plan: FabricPlan) -> dict[str, str]:
    settings = {"net/ipv4/tcp_ecn": "1"}
    if plan.ip_version == 4:
        settings["net/ipv6/conf/all/disable_ipv6"] = "1"
    return settings


def _routes(plan: FabricPlan, host: Host) -> list[str]:
    """Return the lines for ``ip -batch``: one route a NIC, the first one's preferred."""
    return [line for metric, nic in enumerate(host.nics) for line in _routes_by(plan.ip_version, nic, metric)]


def _routes_by(ip_version: int, nic: Nic, metric: int) -> list[str]:
    network = _NETWORK[ip_version]
    if ip_version == 4:
        return [f"route add {network} dev {nic.name} src {nic.ipv4} metric {metric}"]
    if not nic.gateway_mac:
        return [f"route add {network} dev {nic.name} metric {metric + 1}"]
    return [
        f"neigh replace {_ROUTER_LINK_LOCAL} lladdr {nic.gateway_mac} dev {nic.name} nud permanent",
        f"route add {network} via {_ROUTER_LINK_LOCAL} dev {nic.name} metric {metric + 1}",
    ]


def names_of(plan: FabricPlan) -> str:
    """Return the text of /etc/hosts: every host by its first address, every NIC by its interface's name."""
    lines = ["127.0.0.1 localhost", "::1 localhost"]
    for host in plan.hosts:
        for nic in host.nics:
            address = nic.ipv4 if plan.ip_version == 4 else nic.ipv6
            names = f"{host.name} {nic.name}" if nic.index == 0 else nic.name
            lines.append(f"{address} {names}")
    return "\n".join(lines) + "\n"


def name_hosts(plan: FabricPlan) -> None:
    """Make /etc/hosts the plan's. Call inside the sandbox, before any host is made: each gets a copy of its mounts."""
    names = Path("/run/rocelab/hosts")
    names.parent.mkdir(parents=True, exist_ok=True)
    names.write_text(names_of(plan), encoding="ascii")
    mount_over(names, Path("/etc/hosts"))
