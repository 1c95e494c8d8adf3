"""A trace in a workload: its files are read, matched and cast before anything runs, so that what is wrong is known."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from fractions import Fraction

from testbed.scenario import wording_collectives, wording_sizes
from testbed.scenario.collectives import Counted
from testbed.scenario.document import KeyPath
from testbed.scenario.draft import Draft, Problem, Problems
from testbed.scenario.limits import ELEMENT_BYTES, FLOW_MESSAGE_BYTES, MAXIMUM_PIECES
from testbed.scenario.placement import Rank, ranks_of
from testbed.scenario.semantics_collectives import check_ranks
from testbed.scenario.traces import TraceReplay
from traffic.collectives.algorithm import Algorithm
from traffic.collectives.algorithms import algorithms_of
from traffic.traces.casting import DEFAULT_ALGORITHMS, Options, cast_algorithm
from traffic.traces.matching import Matching
from traffic.traces.model import Trace
from traffic.traces.places import TraceError

_MOST_BYTES = MAXIMUM_PIECES * FLOW_MESSAGE_BYTES
"""Of a message, or of what a rank sends on in one step of a collective."""


def trace_options(work: TraceReplay) -> Options:
    """Return how a checked work is replayed."""
    scale = work.scale
    return Options(Fraction(scale.bytes), Fraction(scale.compute), work.algorithms, work.chunk)


def check_trace(draft: Draft, work: TraceReplay, path: KeyPath) -> Problems:
    """Check all that can be checked of a trace; its own mistakes are reported at the files' place."""
    from traffic.traces.reading import read_trace  # protobuf is slow to import, and few scenarios have a trace

    yield from _options(draft, work, path)
    if not draft.sound(*path, "files"):
        return
    try:
        trace, matching = read_trace(work.files, work.iterations if draft.sound(*path, "iterations") else 1)
    except TraceError as error:
        for line in str(error).splitlines():
            yield Problem((*path, "files"), line)
        return
    except ValueError as error:
        yield Problem((*path, "iterations"), str(error))
        return
    if not (draft.names_known and draft.sound(*path, "ranks")):
        return
    if problems := list(check_ranks(draft, work.ranks, (*path, "ranks"), path)):
        yield from problems
        return
    ranks = ranks_of(work.ranks, draft.plan, draft.scenario.seed)
    if (problem := _room(work, len(ranks), len(trace.ranks))) or (
        problem := _shared_nic(draft, ranks[: len(trace.ranks)])
    ):
        yield Problem((*path, "ranks"), problem)
    elif draft.sound(*path, "algorithms"):
        yield from _casting(trace, matching, ranks[: len(trace.ranks)], work, path)


def _options(draft: Draft, work: TraceReplay, path: KeyPath) -> Problems:
    if work.admission is not None and draft.sound(*path, "admission"):
        yield Problem(
            (*path, "admission"), "expected no admission with a trace: its messages are sent at once", at_key=True
        )
    if work.chunk is not None and work.chunk % ELEMENT_BYTES and draft.sound(*path, "chunk"):
        yield Problem((*path, "chunk"), f"expected a multiple of {ELEMENT_BYTES}B, found {work.chunk}B")
    if not draft.sound(*path, "algorithms"):
        return
    for kind, name in work.algorithms.items():
        here = (*path, "algorithms", kind)
        if kind not in DEFAULT_ALGORITHMS:
            known = ", ".join(DEFAULT_ALGORITHMS)
            yield Problem(here, f"expected a kind of collective ({known}), found {kind!r}", at_key=True)
        elif name not in algorithms_of(kind):
            names = algorithms_of(kind)
            near = get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(names)}"
            yield Problem(here, f"no algorithm {name!r} for {kind}; {hint}")


def _room(work: TraceReplay, found: int, needed: int) -> str | None:
    """Return what is wrong with how many ranks there are; None if nothing is."""
    if isinstance(work.ranks, tuple) and found != needed:
        return f"expected {needed} ranks, one for each of the trace, found {found}"
    if isinstance(work.ranks, Counted) and work.ranks.count not in (None, needed):
        return f"expected a 'count' of {needed}, that of the trace's ranks, or none, found {work.ranks.count}"
    if found < needed:
        return (
            f"expected at least {needed} ranks for those of the trace, found {found}; for example more hosts, or "
            f"'ranks: {{per_host: {-(-needed // max(found, 1))}}}'"
        )
    return None


def _shared_nic(draft: Draft, ranks: Sequence[Rank]) -> str | None:
    """Return which two ranks have the same NIC, and no other way to each other; None if none do."""
    if draft.scenario.fabric.nvlink is not None or not draft.sound("fabric"):
        return None
    first: dict[str, Rank] = {}
    for rank in ranks:
        other = first.setdefault(rank.nic(draft.plan).name, rank)
        if other is not rank:
            return wording_collectives.on_one_nic(other.name, rank.name, rank.nic(draft.plan).name)
    return None


def _casting(trace: Trace, matching: Matching, ranks: Sequence[Rank], work: TraceReplay, path: KeyPath) -> Problems:
    """Every collective must have an algorithm that can do it."""
    numbers = {host: number for number, host in enumerate(dict.fromkeys(rank.host for rank in ranks))}
    hosts = [numbers[rank.host] for rank in ranks]
    if any(name not in algorithms_of(kind) for kind, name in work.algorithms.items()):
        return
    options = trace_options(work)
    for together in matching.collectives:
        try:
            algorithm = cast_algorithm(trace, together, hosts, options)
        except ValueError as error:
            yield Problem((*path, "algorithms") if work.algorithms else path, str(error))
            return
        if algorithm is not None and (problem := _too_many_pieces(algorithm, work, path)):
            yield problem
            return
    largest = max((int(message.size_bytes * options.bytes_factor) for message in matching.messages), default=0)
    if largest > _MOST_BYTES:
        yield Problem(_scale(work, path), wording_sizes.trace_too_large(largest, _MOST_BYTES))


def _too_many_pieces(algorithm: Algorithm, work: TraceReplay, path: KeyPath) -> Problem | None:
    """Return what is wrong with how many messages a rank sends on a run of elements in; None if nothing is."""
    run_bytes = algorithm.longest_run * ELEMENT_BYTES
    piece_bytes = algorithm.shape.piece_elements * ELEMENT_BYTES
    if run_bytes <= MAXIMUM_PIECES * piece_bytes:
        return None
    if run_bytes > _MOST_BYTES:
        return Problem(_scale(work, path), wording_sizes.trace_too_large(run_bytes, _MOST_BYTES))
    return Problem((*path, "chunk"), wording_sizes.too_many_pieces(piece_bytes, run_bytes, MAXIMUM_PIECES))


def _scale(work: TraceReplay, path: KeyPath) -> KeyPath:
    """Return where it is said how large a trace is: its factor, or else its files."""
    return (*path, "scale", "bytes") if work.scale.bytes != 1 else (*path, "files")
