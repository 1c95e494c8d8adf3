"""What hosts with Soft-RoCE get of the machine, and what is said where the machine has something in the way."""

import re
from pathlib import Path
from typing import Any

import pytest

from testbed.errors import MachineError
from testbed.fabric.build import build_plan
from testbed.outside.soft_roce import (
    device_name,
    interface_mtu,
    interface_settings,
    require_free_addresses,
    require_free_names,
    routes,
    soft_roce_of,
)
from testbed.scenario.hosts import NamespaceHosts, SoftRoceHosts
from testbed.scenario.load import load_scenario
from testbed.scenario.model import FabricOptions

TOPOLOGY = {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 2}
PLAN = build_plan(FabricOptions.model_validate({"topology": TOPOLOGY}))
TWO_RAILS = build_plan(FabricOptions.model_validate({"topology": TOPOLOGY, "nics_per_host": 2}))


def interface(name: str, *addresses: str) -> dict[str, Any]:
    found = [address.split("/") for address in addresses]
    return {"ifname": name, "addr_info": [{"local": local, "prefixlen": int(bits)} for local, bits in found]}


def test_a_route_by_the_hosts_interface_to_every_other_address() -> None:
    assert routes(PLAN, PLAN.hosts[1]) == [
        "route add 10.0.0.1/32 dev h1-eth0 src 10.0.0.2 metric 2",
        "route add 10.1.0.1/32 dev h1-eth0 src 10.0.0.2 metric 2",
        "route add 10.1.0.2/32 dev h1-eth0 src 10.0.0.2 metric 2",
    ]


def test_routes_of_all_hosts_stand_side_by_side() -> None:
    """The kernel tells routes to one address apart by their metric alone."""
    lines = [line for host in TWO_RAILS.hosts for line in routes(TWO_RAILS, host)]
    keys = [(line.split()[2], line.split()[-1]) for line in lines]
    assert len(keys) == len(set(keys)) == 8 * 7


def test_devices_are_named_after_their_hosts() -> None:
    assert [device_name(nic) for nic in TWO_RAILS.hosts[1].nics] == ["rxe_h1", "rxe_h1_1"]


def test_settings_are_of_the_hosts_own_interfaces_alone() -> None:
    names = list(interface_settings(TWO_RAILS.hosts[0]))
    assert len(names) == 6
    assert all("/h0-eth0/" in name or "/h0-eth1/" in name for name in names)


def test_a_machine_with_other_networks_is_clear() -> None:
    require_free_addresses(
        PLAN, [interface("lo", "127.0.0.1/8"), interface("eth0", "10.0.2.15/24", "192.168.0.2/16"), interface("wlan0")]
    )


def test_a_network_of_the_machines_that_the_fabric_would_be_in() -> None:
    with pytest.raises(MachineError) as caught:
        require_free_addresses(PLAN, [interface("eth0", "10.1.2.3/16")])
    assert str(caught.value) == (
        "10.1.0.1, the fabric's address of h2-eth0, is in 10.1.0.0/16, a network of this machine (at eth0); "
        "a fabric with fewer hosts or leaves may be clear of it"
    )


def test_a_route_of_the_machines_that_leads_to_the_fabrics_addresses_and_a_name_server_there() -> None:
    """As in many clouds: the network is larger than the link, and the name server is in it."""
    wide = {"dst": "10.0.0.0/16", "gateway": "10.0.5.1", "dev": "eth9"}
    require_free_addresses(PLAN, [], [{"dst": "default", "gateway": "10.0.5.1", "dev": "eth9"}, {"dst": "10.0.5.7"}])
    with pytest.raises(MachineError, match=re.escape("which this machine has a route to (via 10.0.5.1 dev eth9)")):
        require_free_addresses(PLAN, [], [wide])
    require_free_addresses(PLAN, [], [], ["10.0.0.9", "fe80::1%eth0"])
    with pytest.raises(
        MachineError, match=re.escape("10.0.0.2, the fabric's address of h1-eth0, is in 10.0.0.2/32, a name")
    ):
        require_free_addresses(PLAN, [], [], ["10.0.0.2"])


def test_an_interface_that_has_a_hosts_name() -> None:
    with pytest.raises(MachineError, match="has an interface h2-eth0 already, perhaps of another live fabric"):
        require_free_names(PLAN, [{"ifname": "h2-eth0"}])


def test_rxe_takes_the_mtu_of_the_scenario_and_no_larger_one() -> None:
    """rxe: the largest of 256, 512, ... 4096 that is 80 bytes at least below the interface's."""
    for mtu in (256, 512, 1024, 2048, 4096):
        room = interface_mtu(mtu) - 80
        assert max(each for each in (256, 512, 1024, 2048, 4096) if each <= room) == mtu
    assert interface_mtu(1024) == 1500


def test_nothing_is_asked_of_the_machine_where_no_host_has_it() -> None:
    for options in (None, NamespaceHosts(kind="namespace")):
        with soft_roce_of(PLAN, options, 1024) as nothing:
            assert nothing is None


def test_an_ordinary_user_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with (
        pytest.raises(MachineError, match=r"hosts with Soft-RoCE need root.*\n  sudo ./rocelab live"),
        soft_roce_of(PLAN, SoftRoceHosts(kind="soft-roce"), 1024),
    ):
        pass


def test_the_example_uses_the_devices_that_its_hosts_have() -> None:
    folder = Path(__file__).parents[2] / "examples" / "soft-roce"
    scenario = load_scenario(folder / "fabric.yaml", ())
    options = scenario.fabric.host
    assert isinstance(options, SoftRoceHosts)
    assert options.hosts != "all"
    used = set(re.findall(r"-d (\S+)", (folder / "session").read_text("utf-8")))
    assert used == {f"rxe_{host}" for host in options.hosts}
