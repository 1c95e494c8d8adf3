"""Looks at a run under way: counters that the engine keeps anyway, and what they have grown by since the last look.

Known limits: data counts as received when its message has arrived, so a flow of one message jumps from 0 to 100 %.
"""

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Protocol

from testbed.engine.fabric import ModelFabric
from testbed.engine.loop import EventLoop
from testbed.engine.qos_switch import QosPort
from testbed.engine.queues import EgressQueue
from testbed.engine.switch import SwitchPort
from testbed.measurement.recorder import DropRecorder
from testbed.measurement.watch.view import JobView, PortView, RankView, View
from testbed.scenario.model import Scenario
from testbed.units import SECOND
from traffic.collectives.job import Standing
from traffic.nic import Nic
from traffic.results import COMPUTE, START
from traffic.work import Job

HISTORY = 60
"""Looks that a queue's history goes back."""


class Watched(Protocol):
    """A run, as far as it can be looked at."""

    scenario: Scenario
    loop: EventLoop
    recorder: DropRecorder
    fabric: ModelFabric
    jobs: list[Job]

    @property
    def nics(self) -> Mapping[str, Nic]:
        """The NICs, by name."""

    def share_done(self) -> float:
        """How much of the workload's data has been sent; 0 to 1."""


class Onlooker:
    """Looks at one run, again and again. `started_s`: wall time when it began."""

    def __init__(self, run: Watched, started_s: float) -> None:
        self._run = run
        self._started_s = self._looked_s = started_s
        self._looked_ps = 0
        self._hops = 0
        self._sent: dict[str, int] = {}
        self._queues: dict[str, deque[int]] = {name: deque(maxlen=HISTORY) for name in run.fabric.ports}
        self._drops: Counter[str] = Counter()
        self._drops_seen = 0

    def look(self, now_s: float) -> View:
        """Return what there is to see at wall time `now_s`."""
        run = self._run
        now_ps, elapsed_s = run.loop.now, max(now_s - self._looked_s, 1e-9)
        hops, nics = run.fabric.data_hops, [nic.counters for nic in run.nics.values()]
        standings = [(job, job.standings()) for job in run.jobs]
        control = run.fabric.flow_control
        view = View(
            title=run.scenario.title,
            now_ps=now_ps,
            wall_s=now_s - self._started_s,
            model_ps_per_s=(now_ps - self._looked_ps) / elapsed_s,
            hops_per_s=(hops - self._hops) / elapsed_s,
            share=run.share_done(),
            jobs=tuple(_job(job, ranks) for job, ranks in standings),
            ranks=tuple(_rank(job, rank, now_ps) for job, ranks in standings for rank in ranks if not job.done),
            ports=tuple(self._ports(now_ps)),
            paused_now=sum(wire.paused_mask != 0 for wire in run.fabric.transmitters.values()),
            pauses=len(control.journal.pauses) if control is not None else 0,
            drops=self._dropped(),
            marks=_marks(run.fabric),
            cnps=sum(counters.np_cnp_sent for counters in nics),
            retransmissions=sum(counters.retransmitted_packets for counters in nics),
        )
        self._looked_s, self._looked_ps, self._hops = now_s, now_ps, hops
        return view

    def _ports(self, now_ps: int) -> Sequence[PortView]:
        fabric, elapsed_ps = self._run.fabric, now_ps - self._looked_ps
        found = []
        for name, wire in fabric.transmitters.items():
            sent = wire.sent_bytes - self._sent.get(name, 0)
            self._sent[name] = wire.sent_bytes
            history = self._queues.get(name)
            if history is not None:
                history.append(_queue_peak(fabric.ports[name]))
            share = min(1.0, sent * 8 * SECOND / (wire.rate_bps * elapsed_ps)) if elapsed_ps else 0.0
            found.append(PortView(name, share, tuple(history or ()), wire.paused_mask != 0))
        return found

    def _dropped(self) -> Mapping[str, int]:
        records = self._run.recorder.records
        self._drops.update(record.reason for record in records[self._drops_seen :])
        self._drops_seen = len(records)
        return dict(self._drops)


def _job(job: Job, ranks: Sequence[Standing]) -> JobView:
    expected = sum(rank.expected_bytes for rank in ranks)
    received = sum(rank.received_bytes for rank in ranks)
    return JobView(job.name, received / expected if expected else float(job.done), job.done, job.failure is not None)


def _rank(job: Job, rank: Standing, now_ps: int) -> RankView:
    waits_for = None if rank.waits_for in (COMPUTE, START) else rank.waits_for
    return RankView(
        name=rank.rank,
        job=job.name,
        share=rank.received_bytes / rank.expected_bytes if rank.expected_bytes else None,
        waits_for=waits_for,
        waiting_ps=now_ps - rank.since_ps if waits_for is not None else 0,
    )


def _queue_peak(port: SwitchPort) -> int:
    """Return the most bytes that waited at once in a queue of `port` since this was last called."""
    if isinstance(port, QosPort):
        return max(queue.take_seen_peak() for queue in port.scheduler.queues)
    assert isinstance(port.queue, EgressQueue)
    return port.queue.take_seen_peak()


def _marks(fabric: ModelFabric) -> int:
    ports = (port for port in fabric.ports.values() if isinstance(port, QosPort))
    return sum(queue.marked_frames for port in ports for queue in port.scheduler.queues)
