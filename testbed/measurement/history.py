"""What is recorded of a run as it goes on, beside its final counters: time series and events (`measure: {series}`)."""

from collections.abc import Mapping, Sequence

from testbed.engine.fabric import ModelFabric
from testbed.engine.loop import EventLoop
from testbed.measurement.events import Events, events_of
from testbed.measurement.marks import MarkRecorder
from testbed.measurement.pauses import PauseReport
from testbed.measurement.records import DropRecord
from testbed.measurement.sampler import SeriesSampler
from testbed.measurement.series import SeriesRecord
from testbed.scenario.model import Fault
from traffic.nic import Nic
from traffic.nic.journal import NicEvent


class History:
    """The recorders of one run. They listen beside whoever listens already, and change nothing."""

    def __init__(self, fabric: ModelFabric, nics: Mapping[str, Nic], loop: EventLoop) -> None:
        self._fabric = fabric
        self._sampler = SeriesSampler(fabric, nics, loop)
        self._marks = MarkRecorder(loop)
        self._of_nics: list[NicEvent] = []
        self._sampler.attach()
        self._marks.attach(fabric)
        for nic in nics.values():
            nic.events = self._of_nics

    def series(self, duration_ps: int, drops: Sequence[DropRecord]) -> SeriesRecord:
        """Return the time series, when the run is over."""
        return self._sampler.finish(duration_ps, drops)

    def events(
        self, duration_ps: int, drops: Sequence[DropRecord], pauses: PauseReport | None, faults: Sequence[Fault]
    ) -> Events:
        """Return the events, when the run is over."""
        return events_of(self._fabric.plan, duration_ps, drops, self._marks, self._of_nics, pauses, faults)
