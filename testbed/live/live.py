"""A run on the live clock: its events at their wall times, its NICs joined to the hosts' kernels."""

from collections.abc import Callable, Mapping

from testbed.engine.frame import wire_bytes
from testbed.engine.loop import EventLoop
from testbed.fabric.buffers import largest_frame_bytes
from testbed.fabric.plan import FabricPlan
from testbed.lab import Lab
from testbed.live.clock import LiveClock
from testbed.live.host_nic import HostNic
from testbed.live.verdict import Pace, judge, safe_factor
from testbed.measurement.live import LiveRecord
from testbed.units import serialisation_ps
from traffic.nic import Nic


class Live:
    """Joins clock, NICs (`HostNic`s), the kernels of `lab` and its switches, for a fabric of RDMA payload `mtu`."""

    def __init__(
        self, plan: FabricPlan, loop: EventLoop, factor: int, nics: Mapping[str, Nic], lab: Lab, mtu: int
    ) -> None:
        self.clock = LiveClock(loop, factor)
        self._loop = loop
        self._nics = [nic for nic in nics.values() if isinstance(nic, HostNic)]
        self._packet_ns = packet_ps(plan, mtu) * factor // 1000
        self._pace: Pace | None = None
        self._started = False
        taps = lab.network.taps
        for nic in self._nics:
            nic.connect_kernel(taps[nic.name], self.clock.now_ps)
            nic.soft_roce = lab.network.has_soft_roce(plan.nic_by_name[nic.name].host)
            nic.on_gone = self.clock.forget
            self.clock.watch(taps[nic.name], nic.take_from_kernel)
        self.clock.watch(lab.datapath.fileno(), lab.datapath.take_answers)

    def advance(self, wall_ns: int, done: Callable[[], bool]) -> bool:
        """Go on for `wall_ns` of wall time; False once `done` says so: then what is under way needs no wall time."""
        if self._pace is not None:
            return False
        if not self._started:  # what came before, the start of the fabric above all, is nobody's lateness
            self._started = True
            self.clock.restart()
        self.clock.run_for(wall_ns, done)
        if done():
            self.close()
        return self._pace is None

    def close(self) -> None:
        """Take nothing in any more, from kernels or from anywhere."""
        if self._pace is None:
            self._pace = self._measured_pace()
            self.clock.close()

    def _measured_pace(self) -> Pace:
        clock = self.clock
        return Pace(
            factor=clock.factor,
            late_ns=clock.lateness.percentile_ns(0.99),
            packet_ns=self._packet_ns,
            busy=clock.busy_ns / max(clock.elapsed_ns, 1),
            model_ps=self._loop.now,
            wall_ns=clock.elapsed_ns,
        )

    def record(self) -> LiveRecord:
        """Return how the clock fared so far."""
        pace = self._pace or self._measured_pace()
        lateness = self.clock.lateness
        dropped: dict[str, int] = {}
        for nic in self._nics:
            for reason, frames in nic.kernel_dropped.items():
                dropped[reason] = dropped.get(reason, 0) + frames
        return LiveRecord(
            rate_factor=pace.factor,
            verdict=judge(pace).value,
            safe_rate_factor=safe_factor(pace),
            wall_ns=pace.wall_ns,
            events=lateness.events,
            late_median_ns=lateness.percentile_ns(0.5),
            late_99_ns=pace.late_ns,
            late_worst_ns=lateness.worst_ns,
            packet_ns=pace.packet_ns,
            busy=pace.busy,
            kernel_sent_frames=sum(nic.kernel_sent_frames for nic in self._nics),
            kernel_received_frames=sum(nic.kernel_received_frames for nic in self._nics),
            kernel_dropped=dict(sorted(dropped.items())),
        )


def packet_ps(plan: FabricPlan, mtu: int) -> int:
    """Return the time of a full packet on the fastest link."""
    size = wire_bytes(largest_frame_bytes(mtu, plan.ip_version))
    return serialisation_ps(size, max(link.rate_bps for link in plan.links))
