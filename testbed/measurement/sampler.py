"""Reads the model's counters at the end of each interval, and keeps what has changed as time series.

It is an observer of the event loop: it looks between two events, schedules none, and changes nothing that the model
looks at. What it reads are counters that are kept anyway, so a packet pays nothing for it.

Known limits: of a fabric with more than `MOST_QUEUE_PAIRS` queue pairs, those that were made later have no series.
"""

from collections.abc import Mapping, Sequence

from testbed.engine.buffer.queue import ClassQueue
from testbed.engine.fabric import ModelFabric
from testbed.engine.loop import EventLoop
from testbed.engine.pause.receiver import PauseReceiver
from testbed.engine.qos_switch import QosPort
from testbed.engine.queues import EgressQueue
from testbed.engine.switch import Switch
from testbed.engine.transmitter import Transmitter
from testbed.measurement import series
from testbed.measurement.records import DropRecord
from testbed.measurement.series import FIRST_INTERVAL_PS, MOST_INTERVALS, SeriesRecord, Track
from traffic.nic import Nic
from traffic.nic.queue_pair import QueuePair

MOST_QUEUE_PAIRS = 1024
_NEVER = 1 << 63


class _Wire:
    """Bytes that a port sends."""

    __slots__ = ("last", "sent", "wire")

    def __init__(self, wire: Transmitter) -> None:
        self.wire = wire
        self.sent = Track(wire.name, series.SENT_BYTES)
        self.last = 0

    def look(self, interval: int) -> None:
        now = self.wire.sent_bytes
        self.sent.add(interval, now - self.last)
        self.last = now


class _Queue:
    """The most bytes in a queue, and the marks that it makes."""

    __slots__ = ("_marks", "marked", "most", "queue")

    def __init__(self, port: str, priority: int | None, queue: ClassQueue | EgressQueue) -> None:
        self.queue = queue
        self.most = Track(port, series.QUEUE_BYTES, priority)
        self.marked = Track(port, series.MARKED, priority)
        self._marks = 0

    def look(self, interval: int) -> None:
        self.most.add(interval, self.queue.take_interval_peak())
        marks = self.queue.marked_frames
        if marks != self._marks:
            self.marked.add(interval, marks - self._marks)
            self._marks = marks


class _Pause:
    """The time for which a port's priority is paused."""

    __slots__ = ("_last", "paused", "priority", "receiver")

    def __init__(self, receiver: PauseReceiver, priority: int) -> None:
        self.receiver = receiver
        self.priority = priority
        self.paused = Track(receiver.transmitter.name, series.PAUSED_PS, priority)
        self._last = 0

    def look(self, interval: int, time_ps: int) -> None:
        now = self.receiver.duration_until_ps(time_ps, self.priority)
        if now != self._last:
            self.paused.add(interval, now - self._last)
            self._last = now


class _Memory:
    """The bytes in a switch's packet memory at the end of an interval."""

    __slots__ = ("switch", "used")

    def __init__(self, switch: Switch) -> None:
        self.switch = switch
        self.used = Track(switch.name, series.BUFFER_BYTES)

    def look(self, interval: int) -> None:
        used = self.switch.memory.used_bytes
        if used:
            self.used.add(interval, used)


class _Nic:
    """A NIC's congestion notifications, and its queue pairs."""

    __slots__ = ("_handled", "_sent", "handled", "nic", "sent")

    def __init__(self, nic: Nic) -> None:
        self.nic = nic
        self.sent = Track(nic.name, series.CNP_SENT)
        self.handled = Track(nic.name, series.CNP_HANDLED)
        self._sent = self._handled = 0

    def look(self, interval: int) -> None:
        counters = self.nic.counters
        if counters.np_cnp_sent != self._sent:
            self.sent.add(interval, counters.np_cnp_sent - self._sent)
            self._sent = counters.np_cnp_sent
        if counters.rp_cnp_handled != self._handled:
            self.handled.add(interval, counters.rp_cnp_handled - self._handled)
            self._handled = counters.rp_cnp_handled


class _QueuePair:
    """The packets that a queue pair sends, and what its congestion control limits it to while it does."""

    __slots__ = ("_last", "limit", "qp", "sent")

    def __init__(self, qp: QueuePair) -> None:
        name = f"{qp.nic.name}/{qp.number}"
        self.qp = qp
        self.sent = Track(name, series.SENT_PACKETS)
        control = qp.congestion
        self.limit = None if control is None else Track(name, next(iter(control.log_data())))
        self._last = 0

    @property
    def waits_at_a_limit(self) -> bool:
        """Whether it has something to send, or to be acknowledged, under a limit."""
        if self.limit is None:
            return False
        requester = self.qp.requester
        return requester.unacknowledged != requester.end_sequence

    def look(self, interval: int, time_ps: int) -> None:
        now = self.qp.requester.sent_packets
        if now != self._last:
            self.sent.add(interval, now - self._last)
            self._last = now
        elif not self.waits_at_a_limit:
            return
        control, limit = self.qp.congestion, self.limit
        if control is not None and limit is not None:
            control.catch_up(time_ps)
            limit.add(interval, int(control.log_data()[limit.what]))


class SeriesSampler:
    """The series of one run, from `attach` on."""

    def __init__(self, fabric: ModelFabric, nics: Mapping[str, Nic], loop: EventLoop) -> None:
        self._loop = loop
        self._wires = [_Wire(wire) for wire in fabric.transmitters.values()]
        self._queues = _queues(fabric)
        control = fabric.flow_control
        receivers = () if control is None else control.receivers.values()
        self._pauses = [_Pause(receiver, priority) for receiver in receivers for priority in receiver.enabled]
        self._memories = [_Memory(switch) for switch in fabric.switches.values()]
        self._nics = [_Nic(nic) for nic in nics.values()]
        self._queue_pairs: list[_QueuePair] = []
        self._known_queue_pairs = [0] * len(self._nics)
        self._all_queue_pairs = 0
        self.interval_ps = FIRST_INTERVAL_PS
        self._interval = 0  # the one that runs
        self._moving = True

    def attach(self) -> None:
        """Look from now on."""
        self._loop.observe(self.interval_ps, self.look)

    def look(self, now_ps: int) -> int:
        """All that happened before `now_ps` has happened: keep the intervals that end by then; return when the next
        one ends."""
        while now_ps >= (end_ps := (self._interval + 1) * self.interval_ps):
            if self._interval >= MOST_INTERVALS and self._stands_still():
                self._interval = now_ps // self.interval_ps
            elif self._interval >= MOST_INTERVALS:
                self._double()
            else:
                still = self._read(end_ps)
                self._interval = now_ps // self.interval_ps if still else self._interval + 1
        return (self._interval + 1) * self.interval_ps

    def _stands_still(self) -> bool:
        """Whether nothing has happened since the last reading but events that did nothing (a timer that was for nothing
        makes no run longer), and nothing followed changes by itself: a rate while there is something to send."""
        return (
            not self._moving
            and all(each.wire.sent_bytes == each.last for each in self._wires)
            and not any(each.waits_at_a_limit for each in self._queue_pairs)
        )

    def _double(self) -> None:
        self.interval_ps *= 2
        self._interval >>= 1
        for track in self._tracks():
            track.double()

    def _read(self, time_ps: int) -> bool:
        """Read everything for the running interval, as of `time_ps`; return whether all stands still until the next
        event."""
        interval = self._interval
        for wire in self._wires:
            if wire.wire.sent_bytes != wire.last:
                wire.look(interval)
        for queue in self._queues:
            if queue.queue.interval_bytes:
                queue.look(interval)
        for pause in self._pauses:
            pause.look(interval, time_ps)
        for memory in self._memories:
            memory.look(interval)
        for nic in self._nics:
            nic.look(interval)
        self._find_queue_pairs()
        for queue_pair in self._queue_pairs:
            queue_pair.look(interval, time_ps)
        self._moving = self._holds_something()
        return self._stands_still()

    def _holds_something(self) -> bool:
        """Whether a frame is on a wire or in a switch, or a port is paused: intervals differ although no event is
        between them, or something is about to happen."""
        return (
            any(each.switch.memory.used_bytes for each in self._memories)
            or any(each.wire.in_flight or each.wire.paused_mask for each in self._wires)
            or any(each.queue.bytes for each in self._queues)
        )

    def _find_queue_pairs(self) -> None:
        for number, each in enumerate(self._nics):
            queue_pairs = each.nic.queue_pairs
            known = self._known_queue_pairs[number]
            if len(queue_pairs) > known:
                self._known_queue_pairs[number] = len(queue_pairs)
                room = MOST_QUEUE_PAIRS - len(self._queue_pairs)
                self._queue_pairs += [_QueuePair(qp) for qp in list(queue_pairs.values())[known:][:room]]

    def finish(self, duration_ps: int, drops: Sequence[DropRecord]) -> SeriesRecord:
        """Return the series of a run that took `duration_ps`, up to now; `drops` are all that there were. Nothing is
        kept any more."""
        now = self._loop.now
        self.look(now)
        self._loop.observe(_NEVER, self.look)
        self._make_room(duration_ps, *(drop.time_ps for drop in drops[-1:]))
        if not self._stands_still():
            self._make_room(now)
            self._read(now)
        senders = sum(qp.requester.sent_packets > 0 for each in self._nics for qp in each.nic.queue_pairs.values())
        followed = sum(len(each.sent.intervals) > 0 for each in self._queue_pairs)
        tracks = [track for track in (*self._tracks(), *_dropped(drops, self.interval_ps)) if track.intervals]
        last = max((track.intervals[-1] for track in tracks), default=0)
        intervals = max(last, duration_ps // self.interval_ps) + 1
        return SeriesRecord(self.interval_ps, intervals, tuple(tracks), senders, senders - followed)

    def _make_room(self, *times_ps: int) -> None:
        while max(times_ps) >= MOST_INTERVALS * self.interval_ps:
            self._double()

    def _tracks(self) -> list[Track]:
        limits = (each.limit for each in self._queue_pairs)
        return [
            *(wire.sent for wire in self._wires),
            *(queue.most for queue in self._queues),
            *(queue.marked for queue in self._queues),
            *(pause.paused for pause in self._pauses),
            *(memory.used for memory in self._memories),
            *(track for nic in self._nics for track in (nic.sent, nic.handled)),
            *(each.sent for each in self._queue_pairs),
            *(limit for limit in limits if limit is not None),
        ]


def _queues(fabric: ModelFabric) -> list[_Queue]:
    found = []
    for name, port in fabric.ports.items():
        if isinstance(port, QosPort):
            found += [_Queue(name, queue.priority, queue) for queue in port.scheduler.queues]
        else:
            assert isinstance(port.queue, EgressQueue)
            found.append(_Queue(name, None, port.queue))
    return found


def _dropped(drops: Sequence[DropRecord], interval_ps: int) -> list[Track]:
    """Return the drops of each place, from their records; these are in the order of time."""
    tracks: dict[str, Track] = {}
    for drop in drops:
        track = tracks.get(drop.where)
        if track is None:
            track = tracks[drop.where] = Track(drop.where, series.DROPPED)
        track.add(drop.time_ps // interval_ps, 1)
    return [tracks[where] for where in sorted(tracks)]
