"""Replays on a modelled fabric whose switches forward by the plan in Python."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from testbed.scenario.traces import TraceReplay
from tests.traffic.collectives.kit import Bench, star
from traffic.results import TraceResult


def replayed(files: Path, fabric: Mapping[str, object] | int, **options: object) -> TraceResult:
    """Replay a trace on a fabric, or on so many hosts around one switch; return its result."""
    return bench(files, fabric, **options)[1]


def bench(files: Path, fabric: Mapping[str, object] | int, **options: object) -> tuple[Bench, TraceResult]:
    """Replay a trace; return also the fabric."""
    work = TraceReplay.model_validate({"kind": "trace", "files": (str(files),), **options})
    made = Bench(star(fabric) if isinstance(fabric, int) else fabric, work)
    made.run()
    (job,) = made.jobs
    result = job.result()
    assert isinstance(result, TraceResult)
    assert made.total("sent_data_packets") == job.data_packets
    return made, result
