"""Work that the shell starts, and its results when it is done."""

from collections.abc import Sequence

from rich.console import RenderableType

from testbed.outside.memory import require_memory
from testbed.report.summary import work_results
from testbed.report.text import work_report
from testbed.scenario.model import Work
from testbed.shell.command import Bench, Later
from traffic.work import Job, memory_needed

_GIVEN_UP = "given up by the user"


def start_later(bench: Bench, workload: Sequence[Work]) -> Later:
    """Start checked `workload` now; the answer, a table of its results, comes when it is done."""
    running = bench.running
    require_memory(memory_needed(workload, running.plan))
    jobs = running.add(workload)
    columns = bench.columns

    def result() -> RenderableType:
        return work_report(work_results([job.result() for job in jobs]), columns)

    return Later(lambda: all(job.done for job in jobs), result, lambda: _give_up(jobs))


def _give_up(jobs: Sequence[Job]) -> None:
    for job in jobs:
        if not job.done:
            job.give_up(_GIVEN_UP)
