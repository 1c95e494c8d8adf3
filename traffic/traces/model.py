"""A trace as plain values, whatever format it was read from: for each rank a graph of nodes.

A node starts when the nodes that it names in `after` have ended and those in `after_start` have started. What it does
then is its `work`. Times are picoseconds, sizes bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

ALL_RANKS = ""
"""The name of the group of all ranks."""

COLLECTIVES = (
    "all-reduce", "reduce-scatter", "all-gather", "broadcast", "reduce", "gather", "scatter", "all-to-all", "barrier",
)  # fmt: skip
"""Every kind of collective that a trace can have."""


@dataclass(frozen=True, slots=True)
class Compute:
    """The rank is busy for `duration_ps`; nodes of one `stream` (``gpu``, ``cpu``) one after the other."""

    duration_ps: int
    stream: str = "gpu"


@dataclass(frozen=True, slots=True)
class Send:
    """A message to rank `peer`; `tag` tells messages of one pair apart."""

    peer: int
    size_bytes: int
    tag: int = 0


@dataclass(frozen=True, slots=True)
class Receive:
    """A message from rank `peer` with `tag`; None: from any rank, with any tag."""

    peer: int | None
    size_bytes: int
    tag: int | None = 0


@dataclass(frozen=True, slots=True)
class Collective:
    """The rank's part in a collective of `group`.

    `size_bytes` is counted as nccl-tests does: the whole buffer, so n times a rank's input for an all-gather. `root` is
    a rank of the trace (broadcast, reduce, gather, scatter). `split_bytes`: what this rank sends to each of the group,
    where an all-to-all is uneven.
    """

    kind: str
    size_bytes: int
    group: str = ALL_RANKS
    root: int | None = None
    split_bytes: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Marker:
    """Something that is known to take no time: metadata, a label."""

    what: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something that is not understood, by the name of its type. It takes no time; others may still depend on it."""

    what: str


Work = Compute | Send | Receive | Collective | Marker | Unknown


@dataclass(frozen=True, slots=True)
class Node:
    """One node of a rank's graph. `identity` is its name in the file, `place` where it stands there."""

    identity: str
    name: str
    place: str
    work: Work
    after: tuple[int, ...] = ()
    after_start: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"node {self.identity} ({self.name})" if self.name and self.name != self.identity else self.identity


@dataclass(frozen=True, slots=True)
class RankTrace:
    """All nodes of a rank, in the order of the file; `after` and `after_start` are positions in `nodes`.

    `left_out`: how many of what was in the file are no nodes here, because they neither take time nor hold anything up.
    """

    rank: int
    file: str
    nodes: tuple[Node, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace of all ranks, by number. `groups` has the ranks of each named group, in the order of the group.

    `inferred`: groups that no file defines; their ranks are those that use them.
    """

    format: str
    files: tuple[str, ...]
    ranks: tuple[RankTrace, ...]
    groups: Mapping[str, tuple[int, ...]]
    inferred: tuple[str, ...] = ()

    def members(self, group: str) -> tuple[int, ...]:
        """Return the ranks of a group."""
        return tuple(range(len(self.ranks))) if group == ALL_RANKS else self.groups[group]
