"""What the schema cannot say of flows: which keys a pattern has, hosts that must exist, sizes, how many there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from testbed.fabric.plan import FabricPlan
from testbed.scenario import wording, wording_flows, wording_sizes
from testbed.scenario.document import KeyPath
from testbed.scenario.draft import Draft, Problem, Problems
from testbed.scenario.flow_sizes import DISTRIBUTIONS, SizeDistribution, distribution_of
from testbed.scenario.limits import FLOW_MESSAGE_BYTES, MAXIMUM_FLOWS, MAXIMUM_PIECES
from testbed.scenario.model import Flows, SizeShare
from testbed.units import SECOND

_PATTERNS_OF = {
    "sizes": ("random",),
    "load": ("random",),
    "sources": ("incast",),
    "destination": ("incast",),
    "hosts": ("ring", "all-to-all", "permutation", "incast", "random"),
    "every": ("listed", "ring", "all-to-all", "permutation", "incast"),
}
"""Keys that some patterns have a use for, and only these."""

_UNUSED = {"hosts": "all"}
"""What a key has that nobody gave; the others: nothing."""


def check_flows(draft: Draft, work: Flows, path: KeyPath) -> Problems:
    """Check one work of flows; how many they are only when all else is right."""
    problems = [
        *_keys(draft, work, path),
        *_hosts(draft, work, path),
        *_listed(draft, work, path),
        *_sizes(draft, work, path),
        *_chunk(draft, work, path),
        *_repeats(draft, work, path),
    ]
    yield from problems
    if not problems and draft.names_known and draft.sound(*path):
        yield from _number(draft, work, path)


# --- which keys ------------------------------------------------------------------------------------------------------


def _keys(draft: Draft, work: Flows, path: KeyPath) -> Problems:
    """Either listed flows, or a pattern with all its keys; and no key that the pattern has no use for."""
    if not draft.sound(*path, "pattern"):
        return
    for key, patterns in _PATTERNS_OF.items():
        given = getattr(work, key) != _UNUSED.get(key)
        if given and work.pattern not in patterns and draft.sound(*path, key):
            yield Problem((*path, key), wording_flows.key_without_use(key, work.pattern, patterns), at_key=True)
    if not all(draft.sound(*path, key) for key in ("size", "sizes", "flows")):
        return
    if work.pattern == "listed":
        if work.size is not None:
            yield Problem((*path, "size"), wording.size_without_pattern(), at_key=True)
        elif not work.flows:
            yield Problem(path, wording.no_flows())
        return
    if work.flows:
        yield Problem((*path, "flows"), wording.flows_with_pattern(work.pattern), at_key=True)
    yield from _random_keys(draft, work, path) if work.pattern == "random" else _size_key(work, path)


def _size_key(work: Flows, path: KeyPath) -> Problems:
    if work.size is None:
        yield Problem(path, wording.pattern_without_size(work.pattern))


def _random_keys(draft: Draft, work: Flows, path: KeyPath) -> Problems:
    if work.size is None and work.sizes is None:
        yield Problem(path, wording_flows.needs_sizes())
    if work.size is not None and work.sizes is not None:
        yield Problem((*path, "size"), wording_flows.size_and_sizes(), at_key=True)
    for key in ("load", "duration"):
        if getattr(work, key) is None and draft.sound(*path, key):
            yield Problem(path, wording_flows.needs_key(key, "'pattern: random'"))


def _repeats(draft: Draft, work: Flows, path: KeyPath) -> Problems:
    """Repetitions have an interval and an end."""
    if work.pattern == "random" or not all(draft.sound(*path, key) for key in ("pattern", "every", "duration")):
        return
    if work.every is not None and work.duration is None:
        yield Problem(path, wording_flows.needs_key("duration", "'every'"))
    elif work.duration is not None and work.every is None:
        yield Problem(path, wording_flows.needs_key("every", "'duration'"))


# --- hosts -----------------------------------------------------------------------------------------------------------


def _hosts(draft: Draft, work: Flows, path: KeyPath) -> Problems:
    known = [host.name for host in draft.plan.hosts]
    if work.hosts != "all":
        yield from _names(draft, work.hosts, (*path, "hosts"), known)
        if len(work.hosts) < 2 and draft.sound(*path, "hosts"):
            yield Problem((*path, "hosts"), wording_flows.too_few_of(len(work.hosts)))
    elif work.pattern != "listed" and draft.names_known and len(known) < 2 and draft.sound(*path, "pattern"):
        yield Problem((*path, "pattern"), wording.too_few_hosts(len(known)))
    if work.destination is not None:
        yield from _host(draft, work.destination, (*path, "destination"), known)
    if work.sources is not None and work.pattern == "incast" and draft.names_known:
        room = len(set(hosts_of(work, draft.plan)) - {work.destination}) - (work.destination is None)
        if work.sources > room and all(draft.sound(*path, key) for key in ("sources", "hosts", "destination")):
            yield Problem((*path, "sources"), wording_flows.too_many_sources(work.sources, room))


def _names(draft: Draft, names: Sequence[str], path: KeyPath, known: Sequence[str]) -> Problems:
    """Each of `names` must be a host, and stand there once."""
    first: dict[str, KeyPath] = {}
    for index, name in enumerate(names):
        here = (*path, index)
        yield from _host(draft, name, here, known)
        if draft.sound(*here) and name in first:
            yield Problem(here, wording.listed_twice(name, first[name]))
        first.setdefault(name, here)


def _host(draft: Draft, name: str, path: KeyPath, known: Sequence[str]) -> Problems:
    if draft.names_known and draft.sound(*path) and name not in known:
        yield Problem(path, wording.not_in_fabric("host", name, known))


def _listed(draft: Draft, work: Flows, path: KeyPath) -> Problems:
    known = [host.name for host in draft.plan.hosts]
    for index, flow in enumerate(work.flows):
        here = (*path, "flows", index)
        for key, name in (("source", flow.source), ("destination", flow.destination)):
            yield from _host(draft, name, (*here, key), known)
        yield from _length(draft, flow.size, (*here, "size"))
        ends_known = draft.sound(*here, "source") and draft.sound(*here, "destination")
        if flow.source == flow.destination and ends_known:
            yield Problem((*here, "destination"), wording.flow_to_itself(flow.destination))


# --- sizes -----------------------------------------------------------------------------------------------------------


def _length(draft: Draft, size_bytes: int | None, path: KeyPath) -> Problems:
    """A flow is not too many messages."""
    if size_bytes is not None and size_bytes > MAXIMUM_PIECES * FLOW_MESSAGE_BYTES and draft.sound(*path):
        yield Problem(path, wording_sizes.flow_too_long(size_bytes, MAXIMUM_PIECES, FLOW_MESSAGE_BYTES))


def _sizes(draft: Draft, work: Flows, path: KeyPath) -> Problems:
    if work.pattern != "listed":
        yield from _length(draft, work.size, (*path, "size"))
    here = (*path, "sizes")
    if not draft.sound(*here) or work.sizes is None:
        return
    if isinstance(work.sizes, str):
        if work.sizes not in DISTRIBUTIONS:
            yield Problem(here, wording_flows.unknown_sizes(work.sizes, list(DISTRIBUTIONS)))
        return
    yield from _points(draft, work.sizes, here)


def _points(draft: Draft, points: Sequence[SizeShare], path: KeyPath) -> Problems:
    """Neither sizes nor shares fall, and the last share is 1."""
    for index, (before, point) in enumerate(pairwise(points), start=1):
        if point.size < before.size:
            texts = (f"{before.size}B", f"{point.size}B")
            yield Problem((*path, index, "size"), wording_flows.falling("size", *texts))
        if point.share < before.share:
            texts = (f"{before.share:g}", f"{point.share:g}")
            yield Problem((*path, index, "share"), wording_flows.falling("share", *texts))
    if not points:
        yield Problem(path, wording_flows.last_share(0))
    elif points[-1].share != 1:
        yield Problem((*path, len(points) - 1, "share"), wording_flows.last_share(points[-1].share))
    for index, point in enumerate(points):
        yield from _length(draft, point.size, (*path, index, "size"))


def _chunk(draft: Draft, work: Flows, path: KeyPath) -> Problems:
    """With admission, a flow is a message for each chunk: not too many of the largest."""
    if work.admission is None or not all(draft.sound(*path, key) for key in ("admission", "size", "sizes", "flows")):
        return
    chunk, largest = work.admission.chunk, max(_flow_sizes(work), default=0)
    if largest > MAXIMUM_PIECES * FLOW_MESSAGE_BYTES:
        return  # too long with any chunk, which is said of its size
    if largest > MAXIMUM_PIECES * chunk:
        given = "chunk" in work.admission.model_fields_set
        here = (*path, "admission", "chunk") if given else (*path, "admission")
        yield Problem(here, wording_sizes.too_many_messages(chunk, largest, MAXIMUM_PIECES))


def _flow_sizes(work: Flows) -> Iterator[int]:
    """Yield sizes of which one is that of the work's largest flow."""
    yield from (flow.size for flow in work.flows)
    if work.size is not None:
        yield work.size
    if isinstance(work.sizes, str):
        yield DISTRIBUTIONS[work.sizes].largest_bytes if work.sizes in DISTRIBUTIONS else 0
    elif work.sizes is not None:
        yield from (point.size for point in work.sizes)


# --- how many --------------------------------------------------------------------------------------------------------


def hosts_of(work: Flows, plan: FabricPlan) -> tuple[str, ...]:
    """Return the names of the hosts among which a pattern is."""
    return tuple(host.name for host in plan.hosts) if work.hosts == "all" else work.hosts


def arrivals_per_ps(work: Flows, plan: FabricPlan, host: str, sizes: SizeDistribution) -> float:
    """Return how many random flows begin at `host` in a picosecond: its link's rate x load / (8 x mean size)."""
    assert work.load is not None, "a checked random work has a load"
    rate_bps = plan.link_at[plan.host_by_name[host].nics[0].name].rate_bps
    return work.load * rate_bps / (8 * sizes.mean_bytes) / SECOND


def _number(draft: Draft, work: Flows, path: KeyPath) -> Problems:
    """No more flows than a run can be expected to bear; of random ones, those that are to be expected."""
    hosts = hosts_of(work, draft.plan)
    if work.pattern == "random":
        sizes = distribution_of(work.sizes, work.size)
        rate = sum(arrivals_per_ps(work, draft.plan, host, sizes) for host in hosts)
        expected = round(rate * (work.duration or 0))
        if expected > MAXIMUM_FLOWS:
            yield Problem((*path, "load"), wording_flows.too_many_flows(expected, MAXIMUM_FLOWS))
        return
    once = {"listed": len(work.flows), "all-to-all": len(hosts) * (len(hosts) - 1), "incast": work.sources}
    rounds = -(-(work.duration or 0) // work.every) if work.every is not None else 1
    flows = rounds * (once.get(work.pattern) or len(hosts))
    if flows > MAXIMUM_FLOWS and work.every is not None:
        yield Problem((*path, "every"), wording_flows.too_many_repeated(flows, MAXIMUM_FLOWS))
