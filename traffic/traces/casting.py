"""Which algorithm plays each collective of a trace, and in which shape.

Sizes are scaled and rounded up to whole float32 elements. Four kinds have no algorithm of their own. A gather and a
scatter are an all-to-all-v in which all but the root's column or row is empty, a barrier is an all-reduce of one
element, and a reduce is an all-reduce, which sends more than a reduce would: replays count these stand-ins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from testbed.scenario.limits import ELEMENT_BYTES, FLOW_MESSAGE_BYTES
from traffic.collectives.algorithm import Algorithm, Shape
from traffic.collectives.algorithms import algorithms
from traffic.traces.matching import Together
from traffic.traces.model import Collective, Trace
from traffic.traces.waiting import elements_of, parts_of

DEFAULT_ALGORITHMS = {
    "all-reduce": "ring",
    "reduce-scatter": "ring",
    "all-gather": "ring",
    "broadcast": "chain",
    "all-to-all": "pairwise",
    "all-to-all-v": "pairwise",
}
"""By the kinds that a replay uses."""

STAND_INS = {"gather": "all-to-all-v", "scatter": "all-to-all-v", "barrier": "all-reduce", "reduce": "all-reduce"}


@dataclass(frozen=True, slots=True)
class Options:
    """How a trace is replayed: factors for sizes and durations, the algorithm of each kind (not all need be there), the
    longest message (None: a step's data at once)."""

    bytes_factor: Fraction = Fraction(1)
    compute_factor: Fraction = Fraction(1)
    algorithms: Mapping[str, str] = field(default_factory=dict)
    chunk_bytes: int | None = None


def cast_algorithm(trace: Trace, together: Together, hosts: Sequence[int], options: Options) -> Algorithm | None:
    """Return the algorithm of a collective; None when there is nothing to do (one rank, or no bytes).

    `hosts` says for each rank of the trace which host it is on. Raises ValueError with what the algorithm refuses.
    """
    work = together.work
    nothing = not any(part.size_bytes for part in parts_of(trace, together)) and work.kind != "barrier"
    if len(together.members) < 2 or nothing:
        return None
    kind = played_kind(trace, together)
    name = algorithm_name(kind, options)
    make = algorithms[f"{kind}/{name}"]
    shape = _Caster(trace, together, hosts, options).shape(kind, None)
    refusal = make.refusal(shape)
    if refusal is not None:
        raise ValueError(f"{kind}/{name} cannot do the {work.kind} of {len(together.members)} ranks: {refusal}")
    longest = max(make(shape).longest_run, 1)
    chunk = options.chunk_bytes or FLOW_MESSAGE_BYTES
    return make(_Caster(trace, together, hosts, options).shape(kind, min(longest, max(chunk // ELEMENT_BYTES, 1))))


def algorithm_name(kind: str, options: Options) -> str:
    """Return the name of the algorithm that plays a kind."""
    return options.algorithms.get(kind, DEFAULT_ALGORITHMS[kind])


def played_kind(trace: Trace, together: Together) -> str:
    """Return the kind as which a collective is replayed."""
    uneven = any(work.split_bytes is not None for work in parts_of(trace, together))
    return "all-to-all-v" if uneven else STAND_INS.get(together.work.kind, together.work.kind)


class _Caster:
    """Works out the shape of one collective."""

    def __init__(self, trace: Trace, together: Together, hosts: Sequence[int], options: Options) -> None:
        self._trace = trace
        self._together = together
        self._hosts = hosts
        self._factor = options.bytes_factor

    def shape(self, kind: str, piece_elements: int | None) -> Shape:
        members, work = self._together.members, self._together.work
        elements = 1 if work.kind == "barrier" else elements_of(work.size_bytes, self._factor)
        counts = self._counts(elements) if kind.startswith("all-to-all") else ()
        if counts:
            elements = max(max(map(sum, counts)), max(map(sum, zip(*counts, strict=True))))
        first: dict[int, int] = {}
        return Shape(
            collective=kind,
            ranks=len(members),
            elements=elements,
            piece_elements=piece_elements or elements,
            hosts=tuple(first.setdefault(self._hosts[rank], len(first)) for rank in members),
            root=self._root,
            counts=counts,
        )

    @property
    def _root(self) -> int:
        root = self._together.work.root
        return 0 if root is None else self._together.members.index(root)

    def _counts(self, elements: int) -> tuple[tuple[int, ...], ...]:
        """Who sends how much to whom."""
        n, root = len(self._together.members), self._root
        share = tuple(elements // n + (index < elements % n) for index in range(n))
        if self._together.work.kind == "gather":
            return tuple(tuple(share[i] if j == root else 0 for j in range(n)) for i in range(n))
        if self._together.work.kind == "scatter":
            return tuple(share if i == root else (0,) * n for i in range(n))
        return tuple(self._row(part) for part in parts_of(self._trace, self._together))

    def _row(self, part: Collective) -> tuple[int, ...]:
        """What one rank sends to each: as its split says, or else the same to all."""
        if part.split_bytes is not None:
            return tuple(elements_of(size, self._factor) if size else 0 for size in part.split_bytes)
        n, elements = len(self._together.members), elements_of(part.size_bytes, self._factor) if part.size_bytes else 0
        return tuple(elements // n + (index < elements % n) for index in range(n))
