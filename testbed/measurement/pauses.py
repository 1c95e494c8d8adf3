"""How pauses spread: the tree of who paused whom, with its roots, and storms and deadlocks beside it.

Every pause has at most one cause that counts: the egress queue in which most of the congested frames waited when it
began. If that queue was itself paused, the pause at the other end of its link is the *parent*; if not, the queue's
port is the *root*, a place of congestion. A pause by a NIC is a root: nothing in the fabric made it. Pauses with the
same chain of ports up to the same root are one branch: how many they were, and for how long in all.

A NIC that went on pausing for `storm_ps` or more is the root of a storm.

References: Microsoft's account of pause storms, C. Guo et al., SIGCOMM 2016, sections 4.2 and 4.3.
Known limits: a pause has one parent, although frames of several queues may have filled its group; frames that were
still in the switch's pipeline when it began are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from testbed.engine.fabric import ModelFabric
from testbed.engine.pause.deadlock import Step
from testbed.engine.pause.journal import Cause, Pause
from testbed.engine.pause.monitor import PauseMonitor
from testbed.engine.statistics import PauseStatistics
from testbed.fabric.buffers import pause_ps

Kind = Literal["congestion", "nic", "storm"]

_STORM_PAUSES = 2
"""Pause times after which a NIC's pause is called a storm: an ordinary one would not even have been refreshed twice."""


@dataclass(frozen=True, slots=True)
class PauseBranch:
    """The pauses of one link for one reason: the port `sender` paused the port `paused`, `pauses` times, `duration_ps`
    in all, the first time at `first_ps`. `priority` is None for PAUSE. `branches` are the pauses that these led to."""

    sender: str
    paused: str
    priority: int | None
    pauses: int
    refreshes: int
    duration_ps: int
    first_ps: int
    branches: tuple[PauseBranch, ...]


@dataclass(frozen=True, slots=True)
class PauseRoot:
    """Where pauses began: the egress port that was congested, or the NIC that paused (`nic`; `storm` if for long)."""

    port: str
    kind: Kind
    branches: tuple[PauseBranch, ...]

    @property
    def pauses(self) -> int:
        """How many pauses it led to, directly or not."""
        return sum(branch.pauses for branch in walk(self.branches))

    @property
    def duration_ps(self) -> int:
        """For how long all ports were paused because of it, added up."""
        return sum(branch.duration_ps for branch in walk(self.branches))

    @property
    def paused_ports(self) -> tuple[str, ...]:
        """The ports that it paused, directly or not, in the order of their names."""
        return tuple(sorted({branch.paused for branch in walk(self.branches)}))


def walk(branches: Sequence[PauseBranch]) -> Iterator[PauseBranch]:
    """Yield all branches, each before what it led to."""
    for branch in branches:
        yield branch
        yield from walk(branch.branches)


@dataclass(frozen=True, slots=True)
class PauseRecord:
    """One pause; `root` is where it began, `depth` how many pauses lie between. `end_ps` None: it lasted to the end."""

    start_ps: int
    end_ps: int | None
    sender: str
    paused: str
    priority: int | None
    refreshes: int
    root: str
    depth: int


@dataclass(frozen=True, slots=True)
class StormRecord:
    """What a watchdog found and did at a queue."""

    time_ps: int
    port: str
    priority: int
    action: str
    restored_ps: int | None


@dataclass(frozen=True, slots=True)
class DeadlockRecord:
    """A cycle of waiting buffers: since when it was closed, when it was found, its steps, the sentence that names it,
    and what keeps each queue from sending (`held_by`)."""

    since_ps: int
    found_ps: int
    steps: tuple[Step, ...]
    text: str
    held_by: str = "is paused by"


@dataclass(frozen=True, slots=True)
class PauseReport:
    """All about flow control in a run. `ports`: the pause counters of every port, NICs' too, by its name; empty with
    credits, where nothing is paused and only deadlocks are to be told."""

    roots: tuple[PauseRoot, ...]
    pauses: tuple[PauseRecord, ...]
    storms: tuple[StormRecord, ...]
    deadlocks: tuple[DeadlockRecord, ...]
    ports: Mapping[str, tuple[PauseStatistics, ...]]


Link = tuple[str, str, int | None]
"""Who pauses whom, and which priority."""


@dataclass(frozen=True, slots=True)
class _Chain:
    """The way from a root to a pause: the links that were paused one after the other, that of the pause last."""

    root: tuple[str, Kind]
    links: tuple[Link, ...]


@dataclass(slots=True)
class _Node:
    """A branch while its pauses are being collected."""

    pauses: list[Pause] = field(default_factory=list)
    inner: dict[Link, _Node] = field(default_factory=dict)


def pause_report(fabric: ModelFabric) -> PauseReport | None:
    """Return what happened with pauses in `fabric`, which has come to its end; None without flow control."""
    control = fabric.flow_control
    if control is None:
        credits = fabric.credit_control
        return None if credits is None else PauseReport((), (), (), _deadlocks(credits.monitor), {})
    now, pauses = fabric.loop.now, control.journal.pauses
    chains = _chains(pauses, _pausing_nics(fabric, pauses))
    return PauseReport(
        roots=_roots(pauses, chains, now),
        pauses=tuple(_record(pause, chain) for pause, chain in zip(pauses, chains, strict=True)),
        storms=tuple(
            StormRecord(e.time_ps, e.port, e.priority, e.action, e.restored_ps) for e in control.journal.storms
        ),
        deadlocks=_deadlocks(control.monitor),
        ports={name: control.statistics(name) for name in fabric.transmitters},
    )


def _deadlocks(monitor: PauseMonitor) -> tuple[DeadlockRecord, ...]:
    return tuple(
        DeadlockRecord(found.since_ps, found.time_ps, found.steps, found.text(), found.held_by)
        for found in monitor.deadlocks
    )


def _pausing_nics(fabric: ModelFabric, pauses: Sequence[Pause]) -> dict[str, Kind]:
    """Return the NICs, each with what its longest pause makes it."""
    assert fabric.qos is not None
    assert fabric.qos.pfc is not None
    quanta = fabric.qos.pfc.quanta
    kinds: dict[str, Kind] = dict.fromkeys(fabric.plan.nic_by_name, "nic")
    for pause in pauses:
        if pause.sender in kinds:
            limit = _STORM_PAUSES * pause_ps(quanta, fabric.transmitters[pause.sender].rate_bps)
            if _duration_ps(pause, fabric.loop.now) >= limit:
                kinds[pause.sender] = "storm"
    return kinds


def _duration_ps(pause: Pause, now: int) -> int:
    return (now if pause.end_ps is None else pause.end_ps) - pause.start_ps


def _chains(pauses: Sequence[Pause], nics: Mapping[str, Kind]) -> list[_Chain]:
    """Return the chain of each pause. A parent has begun before, so its chain is known already."""
    found: list[_Chain] = []
    latest: dict[tuple[str, int | None], int] = {}
    for index, pause in enumerate(pauses):
        key = (pause.sender, pause.paused, pause.priority)
        parent = _parent(pause, latest)
        if parent is None:
            found.append(_Chain(_root(pause, nics), (key,)))
        else:
            before = found[parent]
            links = before.links[: before.links.index(key)] if key in before.links else before.links
            found.append(_Chain(before.root, (*links, key)))
        latest[pause.sender, pause.priority] = index
    return found


def _main_cause(pause: Pause) -> Cause | None:
    return max(pause.causes, key=lambda cause: cause.bytes, default=None)


def _parent(pause: Pause, latest: Mapping[tuple[str, int | None], int]) -> int | None:
    cause = _main_cause(pause)
    if cause is None or cause.paused_by is None:
        return None
    return latest.get((cause.paused_by, pause.priority))


def _root(pause: Pause, nics: Mapping[str, Kind]) -> tuple[str, Kind]:
    """Return the root of a pause without a parent."""
    if pause.sender in nics:
        return pause.sender, nics[pause.sender]
    cause = _main_cause(pause)
    return (pause.sender if cause is None else cause.paused_by or cause.port), "congestion"


def _roots(pauses: Sequence[Pause], chains: Sequence[_Chain], now: int) -> tuple[PauseRoot, ...]:
    """Gather the pauses of each chain, and the chains of each root; what paused longest comes first."""
    nodes: dict[tuple[str, Kind], _Node] = {}
    for pause, chain in zip(pauses, chains, strict=True):
        node = nodes.setdefault(chain.root, _Node())
        for link in chain.links:
            node = node.inner.setdefault(link, _Node())
        node.pauses.append(pause)
    roots = [PauseRoot(port, kind, _branches(node, now)) for (port, kind), node in nodes.items()]
    return tuple(sorted(roots, key=lambda root: -root.duration_ps))


def _branches(node: _Node, now: int) -> tuple[PauseBranch, ...]:
    found = [
        PauseBranch(
            *link,
            pauses=len(inner.pauses),
            refreshes=sum(pause.refreshes for pause in inner.pauses),
            duration_ps=sum(_duration_ps(pause, now) for pause in inner.pauses),
            first_ps=min((pause.start_ps for pause in inner.pauses), default=now),
            branches=_branches(inner, now),
        )
        for link, inner in node.inner.items()
    ]
    return tuple(sorted(found, key=lambda branch: -branch.duration_ps))


def _record(pause: Pause, chain: _Chain) -> PauseRecord:
    return PauseRecord(
        pause.start_ps,
        pause.end_ps,
        pause.sender,
        pause.paused,
        pause.priority,
        pause.refreshes,
        root=chain.root[0],
        depth=len(chain.links) - 1,
    )
