"""A trace several times over: each rank begins again when all that it did is done. Ranks do not wait for each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from traffic.traces.limits import MAXIMUM_NODES
from traffic.traces.model import Marker, Node, RankTrace, Trace


def repeat(trace: Trace, iterations: int) -> Trace:
    """Return the trace `iterations` times over; nodes of iteration k after the first (0) are called ``3@k``.

    Raises ValueError when that is more than a trace can have.
    """
    nodes = sum(len(rank.nodes) for rank in trace.ranks)
    if nodes * iterations > MAXIMUM_NODES:
        raise ValueError(f"expected at most {MAXIMUM_NODES // nodes} iterations of {nodes} nodes, found {iterations}")
    if iterations == 1:
        return trace
    ranks = (replace(rank, nodes=tuple(_nodes(rank, iterations))) for rank in trace.ranks)
    return replace(trace, ranks=tuple(ranks))


def _nodes(rank: RankTrace, iterations: int) -> Iterator[Node]:
    """Yield the nodes of all iterations, between two of them a marker that comes after the one and before the other."""
    yield from rank.nodes
    if not rank.nodes:
        return
    last = _last(rank.nodes)
    step = len(rank.nodes) + 1
    for iteration in range(1, iterations):
        before = (iteration - 1) * step
        name = f"iteration {iteration}"
        after = tuple(before + position for position in last)
        yield Node(name, name, rank.nodes[0].place, Marker("iteration"), after)
        yield from (_moved(node, iteration, iteration * step) for node in rank.nodes)


def _last(nodes: Sequence[Node]) -> tuple[int, ...]:
    """Return the nodes that no other one comes after the end of."""
    followed = {before for node in nodes for before in node.after}
    return tuple(position for position in range(len(nodes)) if position not in followed)


def _moved(node: Node, iteration: int, by: int) -> Node:
    """Return a node of another iteration; one that nothing came before comes after the marker, just before the rest."""
    after = tuple(before + by for before in node.after)
    after_start = tuple(before + by for before in node.after_start)
    if not after and not after_start:
        after = (by - 1,)
    return replace(node, identity=f"{node.identity}@{iteration}", after=after, after_start=after_start)
