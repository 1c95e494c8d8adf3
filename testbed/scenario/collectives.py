"""Collectives in a scenario's workload: one class for each kind, and what all works have in common.

Which algorithms there are for a kind is up to the plug-ins (`traffic.collectives.algorithms`).
"""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from testbed.scenario.quantities import SizeBytes, TimePs
from testbed.scenario.section import Section

LOCAL_RANKS = 16
"""Ranks that a host can have: GPUs."""

RankName = Annotated[str, Field(examples=["h0"])]


class Admission(Section):
    """Receiver-driven admission: a message is sent when the receiver's clear-to-send has come.

    `outstanding`: clear-to-sends that a receiver has given and whose messages have not arrived, over all its peers.
    `chunk`: no message is longer. `traffic_class`: the IP byte of clear-to-sends (192: DSCP 48).
    """

    outstanding: int = Field(default=2, ge=1, le=1024)
    chunk: SizeBytes = Field(default=64 * 1024, gt=0)
    traffic_class: int = Field(default=192, ge=0, le=255)


class JobOptions(Section):
    """What every work can say: what it is called, when it begins, and how its messages travel.

    `name`: in results and messages; none: its kind and its place. `qps_per_connection`, `traffic_class`: none: as in
    ``transport``. `spread`: messages take a connection's queue pairs in turn, or each message is split over all of
    them. `admission`: none: a message is sent at once.
    """

    name: str | None = Field(default=None, min_length=1, examples=["job-a"])
    start: TimePs = 0
    qps_per_connection: int | None = Field(default=None, ge=1, le=64, examples=[4])
    spread: Literal["round-robin", "split"] = "round-robin"
    traffic_class: int | None = Field(default=None, ge=0, le=255, examples=[106])
    admission: Admission | None = None
    verify: bool = True


class Counted(Section):
    """`count` ranks (none: all that the fabric has), `per_host` on each host, on hosts taken in the order of
    `placement` after the first `skip`.

    ``packed``: host by host. ``strided``: every `stride`-th host, then the same from the second on. ``random``: a
    shuffle that depends on the scenario's seed alone, so that works with different `skip` never share a host.
    """

    count: int | None = Field(default=None, ge=1, examples=[8])
    per_host: int = Field(default=1, ge=1, le=LOCAL_RANKS)
    placement: Literal["packed", "random", "strided"] = "packed"
    stride: int = Field(default=2, ge=1)
    skip: int = Field(default=0, ge=0)


def _form(value: Any) -> str:
    if isinstance(value, (dict, Counted)):
        return "counted"
    return "all" if isinstance(value, str) else "names"


Ranks = Annotated[
    Annotated[Literal["all"], Tag("all")]
    | Annotated[tuple[RankName, ...], Tag("names")]
    | Annotated[Counted, Tag("counted")],
    Discriminator(_form),
]


class Straggler(Section):
    """Rank `rank` computes longer than the others, by `compute`, before `iteration` (none: before each)."""

    rank: RankName
    compute: TimePs = Field(gt=0)
    iteration: int | None = Field(default=None, ge=0, examples=[0])


class Collective(JobOptions):
    """A collective of float32 numbers among `ranks`, in the order given.

    `chunk`: the longest message; none: a step's data at once. `compute`: what each rank does before each of
    `iterations`.
    """

    kind: str
    algorithm: str
    ranks: Ranks = "all"
    chunk: SizeBytes | None = Field(default=None, gt=0, examples=["64KiB"])
    iterations: int = Field(default=1, ge=1, le=10_000)
    compute: TimePs = 0
    straggler: Straggler | None = None


class Sized(Collective):
    """A collective of `size` bytes, as nccl-tests counts it: those of a rank's larger buffer."""

    size: SizeBytes = Field(gt=0)


class Bucketed(Sized):
    """A collective whose data can come in `buckets`: each is communicated when its share of the compute phase is done,
    while the rank computes the next (gradients in data-parallel training)."""

    buckets: int = Field(default=1, ge=1, le=1000)


class AllReduce(Bucketed):
    """Every rank ends with the sum over all ranks."""

    kind: Literal["all-reduce"]
    algorithm: str = Field(default="ring", min_length=1, examples=["ring"])


class ReduceScatter(Bucketed):
    """Rank r ends with part r of the sum over all ranks."""

    kind: Literal["reduce-scatter"]
    algorithm: str = Field(default="ring", min_length=1, examples=["ring"])


class AllGather(Bucketed):
    """Rank r brings part r; every rank ends with all parts."""

    kind: Literal["all-gather"]
    algorithm: str = Field(default="ring", min_length=1, examples=["ring"])


class Broadcast(Sized):
    """Every rank ends with what `root` has (none: the first rank)."""

    kind: Literal["broadcast"]
    algorithm: str = Field(default="chain", min_length=1, examples=["chain"])
    root: RankName | None = None


class AllToAll(Sized):
    """Every rank sends a part of its data to every other one."""

    kind: Literal["all-to-all"]
    algorithm: str = Field(default="pairwise", min_length=1, examples=["pairwise"])


class AllToAllV(Collective):
    """All-to-all with parts of different sizes: those of `matrix` (from rank i, row i, to rank j), or of `size` a rank
    shared out by `skew`: the k-th most wanted rank gets a share like k^-skew, which one that is is up to the seed."""

    kind: Literal["all-to-all-v"]
    algorithm: str = Field(default="pairwise", min_length=1, examples=["pairwise"])
    size: SizeBytes | None = Field(default=None, gt=0, examples=["4MiB"])
    skew: float | None = Field(default=None, ge=0, le=10, examples=[1.0])
    matrix: tuple[tuple[SizeBytes, ...], ...] = Field(default=(), examples=[[["0B", "4KiB"], ["8KiB", "0B"]]])


class SendRecv(Sized):
    """A pipeline: rank r sends `microbatches`, one after the other, to rank r + 1, which adds its own data to each and
    sends it on. A rank's `compute` is divided among the microbatches."""

    kind: Literal["send-recv"]
    algorithm: str = Field(default="pipeline", min_length=1, examples=["pipeline"])
    microbatches: int = Field(default=4, ge=1, le=1000)


AnyCollective = AllReduce | ReduceScatter | AllGather | Broadcast | AllToAll | AllToAllV | SendRecv
