"""What the schema cannot say of collectives: ranks, algorithms, sizes in elements, and what depends on several keys."""

from __future__ import annotations

from collections.abc import Iterator

from testbed.scenario import wording, wording_collectives, wording_sizes
from testbed.scenario.collectives import (
    LOCAL_RANKS,
    AllToAllV,
    Broadcast,
    Bucketed,
    Collective,
    Counted,
    Ranks,
    Sized,
)
from testbed.scenario.document import KeyPath
from testbed.scenario.draft import Draft, Problem, Problems
from testbed.scenario.limits import ELEMENT_BYTES, MAXIMUM_MESSAGE_BYTES, MAXIMUM_PIECES
from testbed.scenario.placement import rank_named, ranks_of, room_for
from testbed.scenario.shapes import shapes_of
from traffic.collectives.algorithm import Algorithm
from traffic.collectives.algorithms import algorithms, algorithms_of


def check_collective(draft: Draft, work: Collective, path: KeyPath) -> Problems:
    """Check one collective of the workload; the shape only when all that it depends on is right."""
    problems = [
        *check_ranks(draft, work.ranks, (*path, "ranks"), path),
        *_elements(draft, work, path),
        *_matrix(draft, work, path),
        *_named(draft, work, path),
        *_algorithm(draft, work, path),
    ]
    yield from problems
    if not problems and draft.names_known and draft.sound(*path):
        yield from _shape(draft, work, path)


# --- ranks -----------------------------------------------------------------------------------------------------------


def check_ranks(draft: Draft, ranks: Ranks, path: KeyPath, owner: KeyPath) -> Problems:
    """Check the ranks of the work at `owner`."""
    hosts = [host.name for host in draft.plan.hosts]
    if isinstance(ranks, Counted):
        yield from _counted(draft, ranks, path)
    elif ranks == "all":
        if draft.sound(*path) and draft.names_known and len(hosts) < 2:
            yield Problem(owner, wording.too_few_hosts(len(hosts)))
    else:
        if len(ranks) < 2:
            yield Problem(path, wording.too_few_ranks(len(ranks)))
        yield from _listed(draft, ranks, path, hosts)


def _counted(draft: Draft, ranks: Counted, path: KeyPath) -> Problems:
    if not draft.names_known or not draft.sound(*path):
        return
    hosts = len(draft.plan.hosts)
    if ranks.stride > hosts and ranks.placement == "strided":
        yield Problem((*path, "stride"), wording_collectives.stride_beyond_hosts(ranks.stride, hosts))
        return
    room = room_for(ranks, draft.plan)
    wanted = room if ranks.count is None else ranks.count
    if wanted > room:
        yield Problem((*path, "count"), wording_collectives.no_room(wanted, room))
    elif wanted < 2:
        yield Problem(path, wording_collectives.too_few_counted(wanted))


def _listed(draft: Draft, names: tuple[str, ...], path: KeyPath, hosts: list[str]) -> Problems:
    """Each name must be a rank's, and stand there once: ``h0`` and ``h0.0`` are the same."""
    first: dict[tuple[str, int], tuple[str, KeyPath]] = {}
    for index, name in enumerate(names):
        here = (*path, index)
        if not draft.sound(*here):
            continue
        rank = rank_named(name)
        if draft.names_known and (rank is None or rank.host not in hosts):
            yield Problem(here, _not_a_rank(name, hosts))
        if rank is None:
            continue
        place = rank.host, rank.local
        if place in first:
            other, where = first[place]
            twice = wording.listed_twice(name, where) if other == name else ""
            yield Problem(here, twice or wording_collectives.same_rank(name, other, where))
        else:
            first[place] = name, here


def _not_a_rank(name: str, hosts: list[str]) -> str:
    if "." in name:
        return wording_collectives.not_a_rank(name, hosts, LOCAL_RANKS)
    return wording.not_in_fabric("host", name, hosts)


def _named(draft: Draft, work: Collective, path: KeyPath) -> Problems:
    """Ranks that a work speaks of must be among its own."""
    if not (draft.names_known and draft.sound(*path, "ranks")):
        return
    ranks = [rank.name for rank in ranks_of(work.ranks, draft.plan, draft.scenario.seed)]
    root = work.root if isinstance(work, Broadcast) else None
    straggler = work.straggler
    named = [(("root",), root), (("straggler", "rank"), straggler.rank if straggler else None)]
    for key, name in named:
        if name is not None and ranks and name not in ranks and draft.sound(*path, *key):
            yield Problem((*path, *key), wording_collectives.not_among_ranks(name, ranks))
    if straggler is None or straggler.iteration is None or not draft.sound(*path, "iterations"):
        return
    if straggler.iteration >= work.iterations and draft.sound(*path, "straggler", "iteration"):
        text = wording_collectives.no_such_iteration(straggler.iteration, work.iterations)
        yield Problem((*path, "straggler", "iteration"), text)


# --- sizes -----------------------------------------------------------------------------------------------------------


def _elements(draft: Draft, work: Collective, path: KeyPath) -> Problems:
    """Sizes are of whole elements. They need not be a multiple of the ranks: parts may differ by one element."""
    for keys, size_bytes in _sizes(work):
        if size_bytes % ELEMENT_BYTES and draft.sound(*path, *keys):
            yield Problem((*path, *keys), wording_sizes.not_whole_elements(size_bytes))
    buckets = work.buckets if isinstance(work, Bucketed) else 1
    if isinstance(work, Sized) and draft.sound(*path, "size") and draft.sound(*path, "buckets"):
        elements = work.size // ELEMENT_BYTES
        if buckets > max(1, elements):
            yield Problem((*path, "buckets"), wording_collectives.too_many_buckets(buckets, elements))


def _sizes(work: Collective) -> Iterator[tuple[KeyPath, int]]:
    if isinstance(work, (Sized, AllToAllV)) and work.size is not None:
        yield ("size",), work.size
    if work.chunk is not None:
        yield ("chunk",), work.chunk
    if work.admission is not None:
        yield ("admission", "chunk"), work.admission.chunk
    if isinstance(work, AllToAllV):
        for row, sizes in enumerate(work.matrix):
            yield from ((("matrix", row, column), size) for column, size in enumerate(sizes))


def _matrix(draft: Draft, work: Collective, path: KeyPath) -> Problems:
    """Either a size, with or without a skew, or a matrix for just as many ranks."""
    if not isinstance(work, AllToAllV) or not all(draft.sound(*path, key) for key in ("size", "matrix", "skew")):
        return
    if (work.size is None) == (not work.matrix):
        yield Problem(path, wording_collectives.size_or_matrix(both=work.size is not None))
        return
    if not work.matrix:
        return
    if work.skew is not None:
        yield Problem((*path, "skew"), wording_collectives.skew_with_matrix(), at_key=True)
    if draft.names_known and draft.sound(*path, "ranks"):
        ranks = len(ranks_of(work.ranks, draft.plan, draft.scenario.seed))
        rows = [len(row) for row in work.matrix]
        if rows != [ranks] * ranks:
            yield Problem((*path, "matrix"), wording_collectives.not_square(rows, ranks))
        elif not any(size for i, row in enumerate(work.matrix) for j, size in enumerate(row) if i != j):
            yield Problem((*path, "matrix"), wording_collectives.nothing_to_send())


# --- algorithm -------------------------------------------------------------------------------------------------------


def _algorithm(draft: Draft, work: Collective, path: KeyPath) -> Problems:
    names = algorithms_of(work.kind)
    if work.algorithm not in names and draft.sound(*path, "algorithm"):
        text = wording_collectives.unknown_algorithm(work.kind, work.algorithm, names)
        yield Problem((*path, "algorithm") if "algorithm" in work.model_fields_set else path, text)


def _shape(draft: Draft, work: Collective, path: KeyPath) -> Problems:
    """What the algorithm refuses, and what does not fit into messages."""
    seed = draft.scenario.seed
    shapes = shapes_of(work, ranks_of(work.ranks, draft.plan, seed), seed)
    make = algorithms[f"{work.kind}/{work.algorithm}"]
    refusal = make.refusal(shapes[0])
    if refusal is not None:
        yield Problem((*path, "algorithm") if "algorithm" in work.model_fields_set else path, refusal)
    else:
        algorithm = make(shapes[0])
        yield from _pieces(algorithm, work, path)
        yield from _shared_nics(draft, algorithm, work, path)


def _shared_nics(draft: Draft, algorithm: Algorithm, work: Collective, path: KeyPath) -> Problems:
    """Two ranks with the same NIC cannot talk through it: no switch sends a frame back to where it came from."""
    if draft.scenario.fabric.nvlink is not None or not draft.sound("fabric"):
        return
    ranks = ranks_of(work.ranks, draft.plan, draft.scenario.seed)
    for source, destination, _ in algorithm.connections():
        nic = ranks[source].nic(draft.plan)
        if nic == ranks[destination].nic(draft.plan):
            text = wording_collectives.on_one_nic(ranks[source].name, ranks[destination].name, nic.name)
            yield Problem((*path, "ranks"), text)
            return


def _pieces(algorithm: Algorithm, work: Collective, path: KeyPath) -> Problems:
    """Each rank sends a run of elements on in pieces, a message each: none too long, and not too many."""
    shape = algorithm.shape
    run_bytes = algorithm.longest_run * ELEMENT_BYTES
    piece_bytes = min(shape.piece_elements * ELEMENT_BYTES, run_bytes)
    most_bytes = MAXIMUM_PIECES * MAXIMUM_MESSAGE_BYTES
    size = (*path, "size" if "size" in work.model_fields_set else "matrix")
    if run_bytes > most_bytes:
        yield Problem(size, wording_sizes.parts_too_long(shape.elements * ELEMENT_BYTES, shape.ranks, most_bytes))
    elif piece_bytes > MAXIMUM_MESSAGE_BYTES and work.chunk is None:
        yield Problem(size, wording_sizes.part_needs_chunk(run_bytes, MAXIMUM_MESSAGE_BYTES, MAXIMUM_PIECES))
    elif piece_bytes > MAXIMUM_MESSAGE_BYTES:
        text = wording_sizes.chunk_too_long(piece_bytes, run_bytes, MAXIMUM_MESSAGE_BYTES, MAXIMUM_PIECES)
        yield Problem((*path, "chunk"), text)
    elif run_bytes > piece_bytes * MAXIMUM_PIECES:
        text = wording_sizes.too_many_pieces(piece_bytes, run_bytes, MAXIMUM_PIECES)
        yield Problem((*path, "chunk" if work.chunk is not None else "admission"), text)
