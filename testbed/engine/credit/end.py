"""One end of a link: what it may send, what it has room for, and the updates that it sends to the other end.

An update says both counts of all lanes. It goes out

    when the limit of a lane has risen by `growth` since it was said last
    `update` after the last one, while the other end does not know something: a limit, or that frames were lost

ahead of everything that waits for the wire. An update that waits itself is rewritten, so that it says the latest.

What the other end's counts are is looked up, so that updates which change nothing are left out and a quiet link costs
no events. On a real link they are sent all the same, a few thousandths of its rate.
"""

from collections.abc import Callable, Mapping, Sequence

from testbed.engine.credit.arithmetic import MODULUS, blocks_of
from testbed.engine.credit.frames import read_update, update_frame
from testbed.engine.credit.lane import Lane
from testbed.engine.credit.sending import SendingSide
from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop, Handler
from testbed.engine.transmitter import Transmitter
from testbed.fabric.buffers import BLOCK_BYTES
from testbed.scenario.qos import CreditOptions


def _look_nowhere() -> None:
    pass


class CreditEnd:
    """The end that sends by `transmitter`, with receive buffers of `buffer_bytes` and, at the far end, of
    `far_buffer_bytes` a lane.

    Attributes:
        sending: what it may send. lanes: its receive buffers, by priority.
        updates_sent, updates_received: so far.
        far: the other end; to be set. on_tick: called now and then while a frame waits here.
    """

    __slots__ = (
        "_armed", "_due_ps", "_growth_blocks", "_loop", "_mac", "_said", "_scheduled", "_send_handler", "_tick_handler",
        "_update_ps", "_waiting", "far", "lanes", "on_tick", "sending", "transmitter", "updates_received",
        "updates_sent",
    )  # fmt: skip

    far: "CreditEnd"

    def __init__(
        self,
        loop: EventLoop,
        transmitter: Transmitter,
        mac: str,
        priorities: Sequence[int],
        options: CreditOptions,
        buffer_bytes: int,
        far_buffer_bytes: int,
    ) -> None:
        size_blocks = buffer_bytes // BLOCK_BYTES
        self.transmitter = transmitter
        self.sending = SendingSide(loop, transmitter, priorities, far_buffer_bytes // BLOCK_BYTES)
        self.lanes: Mapping[int, Lane] = {each: Lane(each, size_blocks, self._on_freed) for each in priorities}
        self.updates_sent = self.updates_received = 0
        self.on_tick: Callable[[], None] = _look_nowhere
        self._loop = loop
        self._mac = mac
        self._growth_blocks = max(blocks_of(options.growth), 1)
        self._update_ps = options.update
        self._said = dict.fromkeys(priorities, size_blocks)
        self._waiting: Frame | None = None
        self._scheduled = self._armed = False
        self._due_ps = 0
        self._send_handler: Handler = self._send
        self._tick_handler: Handler = self._tick

    # --- sending ------------------------------------------------------------------------------------------------------

    def spend(self, frame: Frame) -> None:
        """`frame` goes onto the wire; it may."""
        priority = frame.priority
        if self.sending.lanes_mask >> priority & 1:
            self.sending.spend(priority, blocks_of(len(frame.data)))
            if not self._armed:
                self._arm()

    def hold(self, lane: int, blocks: int, since_ps: int) -> None:
        """The next frame of `lane` has no credit."""
        self.sending.hold(lane, blocks, since_ps)
        if not self._armed:
            self._arm()

    # --- updates out --------------------------------------------------------------------------------------------------

    def _on_freed(self, lane: int) -> None:
        """The limit of `lane` has risen."""
        if (self.lanes[lane].limit - self._said[lane]) % MODULUS >= self._growth_blocks:
            self._say()
        elif not self._armed:
            self._arm()

    def _say(self) -> None:
        """Send an update, once the handler that runs now is through with its own frames."""
        if not self._scheduled:
            self._scheduled = True
            self._loop.at(self._loop.now, self._send_handler)

    def _send(self, _nothing: None) -> None:
        self._scheduled = False
        self._due_ps = self._loop.now + self._update_ps
        self._said = {priority: lane.limit for priority, lane in self.lanes.items()}
        sent = self.sending.sent
        data = update_frame(self._mac, {lane: (sent[lane], limit) for lane, limit in self._said.items()})
        if self._waiting is not None and self.transmitter.holds_control(self._waiting):
            self._waiting.data = data
        else:
            self._waiting = frame = Frame(data)
            self.updates_sent += 1
            self.transmitter.send_control(frame)
        if not self._armed:
            self._arm()

    def _arm(self) -> None:
        """Look again when the next update is due."""
        self._armed = True
        now = self._loop.now
        if self._due_ps <= now:
            self._due_ps = now + self._update_ps
        self._loop.upkeep_at(self._due_ps, self._tick_handler)

    def _tick(self, _nothing: None) -> None:
        self._armed = False
        if self._loop.now < self._due_ps:  # one was sent meanwhile
            self._arm()
            return
        has_news, waits = self._has_news(), bool(self.transmitter.paused_mask)
        if waits:
            self.on_tick()
        if has_news:
            self._say()
        elif waits:
            self._arm()

    def _has_news(self) -> bool:
        """Whether an update would tell the far end anything."""
        far, sent = self.far, self.sending.sent
        return any(
            sent[priority] != far.lanes[priority].received or lane.limit != far.sending.limit[priority]
            for priority, lane in self.lanes.items()
        )

    @property
    def has_update_due(self) -> bool:
        """Whether it is going to look whether there is something to say."""
        return self._armed

    # --- updates in ---------------------------------------------------------------------------------------------------

    def receive(self, frame: Frame) -> None:
        """An update's last bit has arrived. Other MAC control frames mean nothing here."""
        counts = read_update(frame.data)
        if counts is None:
            return
        self.updates_received += 1
        may_go = False
        for lane, (sent, limit) in counts.items():
            self.lanes[lane].resynchronise(sent)
            may_go |= self.sending.grant(lane, limit)
        if may_go:
            self.transmitter.kick()
