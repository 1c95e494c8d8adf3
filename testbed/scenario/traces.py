"""The replay of a trace in a scenario's workload."""

from typing import Annotated, Literal

from pydantic import Field

from testbed.scenario.collectives import JobOptions, Ranks
from testbed.scenario.files import FileName
from testbed.scenario.quantities import SizeBytes
from testbed.scenario.section import Section


class TraceScale(Section):
    """Factors for the trace's sizes and for its calculations' durations."""

    bytes: float = Field(default=1.0, gt=0, le=1e6)
    compute: float = Field(default=1.0, ge=0, le=1e6)


class TraceReplay(JobOptions):
    """The trace in `files` (or directories), run rank by rank.

    `ranks`: where its ranks are; as many are taken as the trace has, unless they are listed. `iterations`: how often a
    rank runs all of it. `algorithms`: which one plays each kind of collective, where it is not the usual one. `chunk`:
    the longest message of a collective; none: a step's data at once.
    """

    kind: Literal["trace"]
    files: tuple[FileName, ...] = Field(min_length=1, examples=[["traces/fsdp"]])
    ranks: Ranks = "all"
    scale: TraceScale = TraceScale()
    iterations: int = Field(default=1, ge=1, le=10_000)
    algorithms: dict[Annotated[str, Field(examples=["all-reduce"])], Annotated[str, Field(examples=["ring"])]] = Field(
        default_factory=dict, examples=[{"all-reduce": "ring"}]
    )
    chunk: SizeBytes | None = Field(default=None, gt=0, examples=["64KiB"])
