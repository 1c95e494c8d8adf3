"""A modelled fabric whose switches forward by the plan in Python, with NICs at its edge: no Open vSwitch, no root."""

from collections.abc import Callable, Mapping
from zlib import crc32

from testbed.engine.classes import priority_by_traffic_class
from testbed.engine.fabric import ModelFabric
from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop
from testbed.fabric.build import build_plan
from testbed.fabric.paths import next_hops
from testbed.fabric.plan import FabricPlan
from testbed.scenario.collectives import AllReduce
from testbed.scenario.model import FabricOptions, TransportOptions, Work
from traffic.collectives.job import Job
from traffic.nic import Nic
from traffic.nic.replayed import note_loss
from traffic.nvlink import nvlink_domains
from traffic.results import CollectiveResult
from traffic.wire.packet import addresses
from traffic.work import start_workload

Loses = Callable[[int], bool]


class PlannedForwarder:
    """Forwards by destination; of equal next hops, by a hash of the UDP source port."""

    def __init__(self, plan: FabricPlan, switch: str) -> None:
        hops = next_hops(plan)[switch]
        self._ports = {
            _packed(address): tuple(port.number for port in hops[nic.name])
            for nic in plan.nics
            for address in (nic.ipv4, nic.ipv6)
        }
        self._udp = 34 if plan.ip_version == 4 else 54

    def submit(self, in_port: int, frame: Frame) -> None:  # noqa: ARG002 - a forwarder's signature
        found = addresses(frame.data)
        assert found is not None
        ports = self._ports[found[1]]
        frame.answer = ports[crc32(frame.data[self._udp : self._udp + 2]) % len(ports)]

    def answer(self, frame: Frame) -> int:
        return int(frame.answer)


def _packed(address: str) -> bytes:
    from ipaddress import ip_address

    return ip_address(address).packed


class Losing:
    """An impairment that loses the frames of one direction whose number (from 0) `loses` names, counting data frames or
    all others."""

    def __init__(self, loses: Loses, *, data: bool) -> None:
        self._loses = loses
        self._data = data
        self._seen = -1

    def on_departure(self, frame: Frame, now: int) -> str | None:  # noqa: ARG002 - an impairment's signature
        if frame.is_data is not self._data:
            return None
        self._seen += 1
        return "fault" if self._loses(self._seen) else None

    def lost_in_flight(self, departed_ps: int, arrived_ps: int) -> str | None:  # noqa: ARG002
        return None


class Bench:
    """A fabric of `fabric` options with a workload started on it."""

    def __init__(self, fabric: Mapping[str, object], *workload: Work, seed: int = 1, **transport: object) -> None:
        options = FabricOptions.model_validate(fabric)
        settings = TransportOptions.model_validate(transport)
        self.plan = build_plan(options)
        self.loop = EventLoop()
        self.drops: list[tuple[str, str]] = []
        priorities = bytes(256) if options.qos is None else priority_by_traffic_class(options.qos.dscp)
        self.nics = {
            nic.name: Nic(
                nic,
                self.loop,
                ip_version=self.plan.ip_version,
                on_drop=self._dropped,
                priority_by_traffic_class=priorities,
            )
            for nic in self.plan.nics
        }
        forwarders = {switch.name: PlannedForwarder(self.plan, switch.name) for switch in self.plan.switches}
        self.fabric = ModelFabric(
            self.plan, self.loop, forwarders, self.nics, self._dropped, options.qos, mtu=settings.mtu, seed=seed
        )
        self.domains = nvlink_domains(options.nvlink, self.plan.host_by_name, self.loop)
        self.jobs: list[Job] = start_workload(workload, self.plan, self.nics, self.loop, seed, settings, self.domains)

    def _dropped(self, where: str, reason: str, frame: Frame) -> None:
        note_loss(frame, reason)
        self.drops.append((where, reason))

    def lose(self, port: str, loses: Loses, *, data: bool = True) -> None:
        """Lose data frames, or else acknowledgements, of what `port` sends."""
        self.fabric.transmitters[port].impair(Losing(loses, data=data))

    def run(self) -> None:
        """Run to the last event and check that everything came to an end."""
        self.loop.run()
        assert all(job.done for job in self.jobs), [job.waiting_for() for job in self.jobs]
        assert list(self.fabric.conservation()) == []
        for domain in (domain.statistics() for domain in self.domains.values()):
            assert (domain.sent_messages, domain.sent_bytes) == (domain.delivered_messages, domain.delivered_bytes)

    def collective(self) -> CollectiveResult:
        """Run, and return the result of the one collective."""
        self.run()
        (job,) = self.jobs
        result = job.result()
        assert isinstance(result, CollectiveResult)
        return result

    def total(self, counter: str) -> int:
        """Return the sum of a counter over all NICs."""
        return sum(nic.statistics()[counter] for nic in self.nics.values())


def star(hosts: int, **options: object) -> dict[str, object]:
    """Return a single switch with `hosts`, almost without latency: each pair has two ideal wires between."""
    return {"topology": {"kind": "single-switch", "hosts": hosts}, **options}


def ring(size: int, **options: object) -> AllReduce:
    """Return a ring All-Reduce of `size` bytes."""
    return AllReduce.model_validate({"kind": "all-reduce", "size": f"{size}B", **options})
