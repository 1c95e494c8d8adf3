"""Runs the product and notes every millisecond of wall time in which line of Python it is.

    python -m benchmarks.sampled_run OUT.json run scenarios/01-ring-all-reduce.yaml

All behind OUT.json is the product's own command line. From the first packet to the last, a timer's signal interrupts
the engine; Python runs the handler as soon as the call it is in, such as a write into a TAP, has returned, so that the
sample falls on the line of that call. Beside the samples OUT.json has the processor time of engine and Open vSwitch in
the same span. The samples cost about two per cent.

This replaces one method of `testbed.running`, which no user's code should do.
"""

import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import FrameType

from benchmarks.machine import CpuTime
from testbed.cli.main import main
from testbed.outside.openvswitch import RUN_DIRECTORY
from testbed.running import Running

INTERVAL_S = 0.001


class Sampler:
    """Counts the lines (file, number) that the main thread is in."""

    def __init__(self) -> None:
        self.lines: Counter[tuple[str, int]] = Counter()

    def start(self) -> None:
        """Begin to sample this process."""
        signal.signal(signal.SIGALRM, self._on_signal)
        signal.setitimer(signal.ITIMER_REAL, INTERVAL_S, INTERVAL_S)

    def stop(self) -> None:
        """Sample no more."""
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _on_signal(self, _number: int, frame: FrameType | None) -> None:
        if frame is not None:
            self.lines[frame.f_code.co_filename, frame.f_lineno] += 1


def sample_into(out: Path) -> None:
    """Have every run of this process sampled from its first packet to its last, and the result written to `out`."""
    finish = Running.finish

    def sampled(running: Running, progress: Callable[[Running], None]) -> None:
        sampler = Sampler()
        switches = int((RUN_DIRECTORY / "ovs-vswitchd.pid").read_text())
        before = CpuTime.of_process(os.getpid()), CpuTime.of_process(switches)
        started = time.monotonic()
        sampler.start()
        try:
            finish(running, progress)
        finally:
            sampler.stop()
        seconds = time.monotonic() - started
        engine = CpuTime.of_process(os.getpid()) - before[0]
        switch = CpuTime.of_process(switches) - before[1]
        lines = [[file, number, count] for (file, number), count in sampler.lines.items()]
        found = {"seconds": seconds, "engine": asdict(engine), "switch": asdict(switch), "lines": lines}
        out.write_text(json.dumps(found), encoding="utf-8")

    Running.finish = sampled  # type: ignore[assignment,method-assign]  # all between first and last packet is in it


if __name__ == "__main__":
    sample_into(Path(sys.argv[1]).resolve())
    main(sys.argv[2:])
