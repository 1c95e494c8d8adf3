"""Two ends of a link for the tests of flow control: a data port that obeys, and a port that pauses it."""

from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop
from testbed.engine.pause.journal import Journal
from testbed.engine.pause.receiver import PauseReceiver
from testbed.engine.pause.sender import PauseSender
from testbed.engine.transmitter import Transmitter
from testbed.scenario.qos import PfcOptions
from tests.engine.kit import Arrivals, ListSource

GBPS = 10**9
SOURCE_MAC = "02:00:00:00:01:07"


class ObeyingSource(ListSource):
    """Sends nothing while the priority of its first frame is paused."""

    transmitter: Transmitter

    def dequeue(self) -> Frame | None:
        return super().dequeue() if self.has_more() else None

    def has_more(self) -> bool:
        return bool(self.frames) and not self.transmitter.paused_mask >> self.frames[0].priority & 1


class Link:
    """``h0-eth0`` sends data to ``leaf0-eth1``, which pauses it by its own wire, the other direction of the link."""

    def __init__(
        self, rate_bps: int = 100 * GBPS, delay_ps: int = 500_000, enabled: int = 1 << 3, **pfc: object
    ) -> None:
        self.loop = EventLoop()
        self.pfc = PfcOptions.model_validate(pfc)
        self.source = ObeyingSource()
        self.arrivals = Arrivals(self.loop)
        self.data = self.source.transmitter = Transmitter(self.loop, "h0-eth0", rate_bps, delay_ps)
        self.data.connect(self.source, self.arrivals)
        self.back_source, self.back_arrivals = ListSource(), Arrivals(self.loop)
        self.back = Transmitter(self.loop, "leaf0-eth1", rate_bps, delay_ps)
        self.back.connect(self.back_source, self.back_arrivals)
        self.receiver = PauseReceiver(self.loop, self.data, enabled, self.pfc.response)
        self.back.connect_control(self.receiver.receive)
        self.journal = Journal()
        self.refreshed: list[tuple[int, int]] = []
        self.sender = PauseSender(
            self.loop, self.back, "h0-eth0", SOURCE_MAC, self.pfc, self.journal, self._before_refresh
        )
        self.control: list[tuple[int, bytes]] = []
        self.back.on_sent = lambda now, frame: self.control.append((now, frame.data))

    def _before_refresh(self, priority: int) -> None:
        self.refreshed.append((self.loop.now, priority))

    def pause_at(self, time_ps: int, priority: int = 3) -> None:
        self.loop.at(time_ps, self.sender.pause, priority)

    def resume_at(self, time_ps: int, priority: int = 3) -> None:
        self.loop.at(time_ps, self.sender.resume, priority)
