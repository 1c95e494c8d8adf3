"""The walk from a message's arrival back to its post: what the last packet waited for, and what that waited for.

It is a critical path, followed backwards in time. At any point of it there is one packet of the message's connection
that a wire begins to send, and one reason why it did not begin earlier:

    the wire was sending another packet of the connection    go on with that: its serialisation is the message's own
    the wire was sending somebody else's frame               `queue`, at this port, behind that flow
    the wire was idle although the packet was in line        `paused`, or without `credit`: when its port was, exactly
                                                             `idle` otherwise: beyond a window, or in the controller
    the packet had only just come to the port                go on with its hop before (latency and delay are its own)
    at the NIC: its queue pair had to wait                   `rate`: until the time that congestion control set
    at the NIC: its queue pair had gone back                 `recovery`: since it was first sent; go on with that
    at the NIC: it had just been posted                      the end
    a packet of the connection comes up for the second time  `recovery`, for its serialisation: once was enough

So every instant between post and arrival is either the message's own (serialisation of the connection's packets,
delays, latencies) or has one of these causes; what is its own is what a fabric without contention takes as well.

Known limits: a wire that sends others' frames while the packet's priority is paused counts as busy with them, and so
does a NIC's while the packet's queue pair has no window. A packet is taken to have its sender's priority everywhere.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from testbed.engine.holds import Holds
from testbed.engine.hops import BITS, LEAST_RECORD, MASK, HopLog
from testbed.units import serialisation_ps
from traffic.nic.transit import RNR_NAK, Posted, SenderLog, TransitLog

QUEUE, PAUSED, CREDIT, IDLE, RATE, RECOVERY = "queue", "paused", "credit", "idle", "rate", "recovery"
CONTROL = -1
"""The flow of frames that no queue pair's data is: acknowledgements, CNPs, pause frames."""


@dataclass(frozen=True, slots=True)
class Wire:
    """What a walk must know of a wire: its port, rate and delay, and the latency of the switch before it (0: a NIC).

    `holds` are the times when the port was `held_by` (PAUSED or CREDIT) the other end; None without flow control.
    """

    port: str
    rate_bps: int
    delay_ps: int
    latency_ps: int
    holds: Holds | None = field(default=None, compare=False, repr=False)
    held_by: str = PAUSED
    _durations: dict[int, int] = field(default_factory=dict, compare=False, repr=False)

    def takes_ps(self, size_bytes: int) -> int:
        """Return for how long a frame of this size occupies the wire."""
        duration = self._durations.get(size_bytes)
        if duration is None:
            duration = self._durations[size_bytes] = serialisation_ps(size_bytes, self.rate_bps)
        return duration


class Found(NamedTuple):
    """A cause before it has a name. `wire` is where, `about` what else tells it apart:

    queue: the flow in front; paused: (the priority, since when); credit: the priority; idle, rate: the sender;
    recovery: (sender, index in its `went_back`).
    """

    kind: str
    wire: int
    about: int
    event: int = 0


class Stretch(NamedTuple):
    """For how long a cause delayed a message in all, and from when to when."""

    found: Found
    duration_ps: int
    first_ps: int
    last_ps: int


class Walker:
    """Walks in `log` over `wires` (as numbered by the log). `flow_of` has each sender's flow, by its number.

    `first_sent` says for each `recovery` found when the packet that is sent again first was sent before.
    """

    def __init__(self, log: TransitLog, wires: Sequence[Wire], flow_of: Mapping[int, int]) -> None:
        self.log = log
        self.wires = wires
        self.flow_of = flow_of
        self.first_sent: dict[Found, int] = {}

    def walk(self, sender: SenderLog, message: Posted, hop: int) -> tuple[Stretch, ...]:
        """Return what delayed `message`, in the order of time; `hop` is the last one of the frame that completed it."""
        return _Way(self, sender, message.time_ps).back_from(hop)


class _SinceStart(dict[tuple[int, int], int]):
    """How long after the start on a wire, by its number and a packet's size, the packet is in line for `wire`."""

    def __init__(self, wires: Sequence[Wire], wire: Wire) -> None:
        super().__init__()
        self._wires = wires
        self._latency_ps = wire.latency_ps

    def __missing__(self, key: tuple[int, int]) -> int:
        before = self._wires[key[0]]
        found = self[key] = before.takes_ps(key[1]) + before.delay_ps + self._latency_ps
        return found


class _Way:
    """One walk. `_floor` is the post: nothing before it matters.

    Its steps are taken for every packet of every message, so they look into the log's columns themselves.
    """

    __slots__ = (
        "_first_sent_ps", "_floor", "_flow", "_flow_of", "_hops", "_log", "_queued", "_seen", "_sender", "_spans",
        "_wires",
    )  # fmt: skip

    def __init__(self, walker: Walker, sender: SenderLog, floor_ps: int) -> None:
        self._log = walker.log
        self._hops: HopLog = walker.log.hops
        self._wires = walker.wires
        self._flow_of = walker.flow_of
        self._first_sent_ps = walker.first_sent
        self._sender = sender
        self._flow = walker.flow_of[sender.number]
        self._floor = floor_ps
        self._seen: dict[tuple[int, int], int] = {}
        self._spans: dict[Found, list[int]] = {}
        self._queued: dict[tuple[int, int], list[int]] = {}

    def back_from(self, record: int) -> tuple[Stretch, ...]:
        """Go back from `record` to the post; what is forgotten lies before that."""
        while record in self._hops and self._hops.start_ps(record) > self._floor:
            source = self._hops.source(record)
            if source >= 0:
                break
            first = self._first_of_row(record, source)
            if first != record:
                record = first
                continue
            self._look_at(record, source)
            came_from = self._hops.came_from(record)
            if came_from >= LEAST_RECORD:
                record = self._at_switch(record, came_from, source)
            else:
                record = self._at_nic(record, came_from)
        stretches = [Stretch(found, *values) for found, values in self._spans.items()]
        stretches += [Stretch(Found(QUEUE, *key), *values) for key, values in self._queued.items()]
        return tuple(sorted(stretches, key=lambda stretch: (stretch.first_ps, stretch.last_ps, stretch.found)))

    def _first_of_row(self, record: int, source: int) -> int:
        """Return the first record of the unbroken row of one sender's packets that `record` ends on its wire, each of
        which had to wait for the one before it, and for nothing else.

        The steps below would come to the same packet one by one, and find no cause on the way; most packets are in
        such rows, and this is several times as fast.
        """
        hops, number, sender = self._hops, record & MASK, -source & MASK
        if self._log.senders[sender].went_back:
            return record
        log, wire, emissions, logs = hops.wires[number], self._wires[number], hops.senders[sender], hops.wires
        starts, came_from, sizes, oldest = log.starts, log.came_from, emissions.sizes, emissions.first
        index, packet = (record >> BITS) - log.first, (-source >> BITS) - oldest
        since_start_ps = _SinceStart(self._wires, wire)
        while index > 0 and packet >= 0:
            start, size = starts[index], sizes[packet]
            if start <= self._floor:
                break
            before = came_from[index]
            if before < 0:
                in_line_since = emissions.not_before[packet]
            else:
                log_before = logs[before & MASK]
                at = (before >> BITS) - log_before.first
                if at < 0:
                    break
                in_line_since = log_before.starts[at] + since_start_ps[before & MASK, size]
            if start <= in_line_since:
                break
            ahead = hops.source(came_from[index - 1])
            if ahead >= 0 or -ahead & MASK != sender:
                break
            packet = (-ahead >> BITS) - oldest
            if packet < 0 or starts[index - 1] + wire.takes_ps(sizes[packet]) != start:
                break
            index -= 1
        return (log.first + index) << BITS | number

    def _look_at(self, record: int, emission: int) -> None:
        """See whether the packet of `record` has come up already, as one that was sent again later."""
        sender = -emission & MASK
        events = self._log.senders[sender].went_back
        if not events:
            return
        log = self._hops.senders[sender]
        later = self._seen.setdefault((sender, log.sequences[(-emission >> BITS) - log.first]), emission)
        if later != emission:
            sent_again = log.times[(-later >> BITS) - log.first]
            event = max(0, bisect_right(events, sent_again, key=lambda event: event.time_ps) - 1)
            found = Found(RECOVERY, log.wire, sender, event)
            self._note_first_sent(found, log.times[(-emission >> BITS) - log.first])
            start = self._hops.start_ps(record)
            self._add(found, start, start + self._takes_ps(record, emission))

    def _takes_ps(self, record: int, source: int) -> int:
        return self._wires[record & MASK].takes_ps(self._hops.size_bytes(source))

    def _note_first_sent(self, found: Found, time_ps: int) -> None:
        self._first_sent_ps[found] = min(time_ps, self._first_sent_ps.get(found, time_ps))

    # --- in line for a wire -------------------------------------------------------------------------------------------

    def _at_switch(self, record: int, came_from: int, source: int) -> int:
        """Account for why `record` did not begin earlier, and return the record to go on with."""
        hops, wires = self._hops, self._wires
        if came_from not in hops:
            return 0
        before = wires[came_from & MASK]
        there = hops.start_ps(came_from) + before.takes_ps(hops.size_bytes(source))
        ours, _ = self._in_line(record, there + before.delay_ps + wires[record & MASK].latency_ps)
        return ours or came_from

    def _in_line(self, record: int, since_ps: int) -> tuple[int, int]:
        """Account for the time from `since_ps` to the start of `record`, in line for its wire, as far back as to a
        packet of its own connection; return that packet's record (0: none), and the time that it has come to."""
        number = record & MASK
        log, wire = self._hops.wires[number], self._wires[number]
        starts, came_from, index = log.starts, log.came_from, (record >> BITS) - log.first
        source_of, size_of, takes_ps = self._hops.source, self._hops.size_bytes, wire.takes_ps
        time_ps, since_ps = starts[index], max(since_ps, self._floor)
        while time_ps > since_ps:
            index -= 1
            end_ps, source = since_ps, 0
            if index >= 0:
                source = source_of(came_from[index])
                end_ps = starts[index] + takes_ps(size_of(source))
            if end_ps < time_ps:
                idle_since = max(end_ps, since_ps)
                self._idle(number, idle_since, time_ps)
                time_ps = idle_since
                if time_ps <= since_ps:
                    break
            flow = self._flow_of[-source & MASK] if source < 0 else CONTROL
            if flow == self._flow:
                return (log.first + index) << BITS | number, time_ps
            began = max(starts[index], since_ps)
            values = self._queued.setdefault((number, flow), [0, began, time_ps])
            values[0] += time_ps - began
            values[1] = began  # the walk goes back in time
            time_ps = began
        return 0, time_ps

    def _idle(self, number: int, since_ps: int, until_ps: int) -> None:
        """Account for a wire that was idle between these times, although the packet was in line for it."""
        wire, priority, idle = self._wires[number], self._sender.qp.priority, Found(IDLE, number, self._sender.number)
        for span in wire.holds.within(priority, since_ps, until_ps) if wire.holds is not None else ():
            self._add(idle, span.last_ps, until_ps)
            event = span.since_ps if wire.held_by == PAUSED else 0  # pauses have names of their own, one by one
            self._add(Found(wire.held_by, number, priority, event), span.first_ps, span.last_ps)
            until_ps = span.first_ps
        self._add(idle, since_ps, until_ps)

    # --- at the NIC ---------------------------------------------------------------------------------------------------

    def _at_nic(self, record: int, emission: int) -> int:
        """Account for why `emission` was not sent earlier, by `record`, and return the record to go on with."""
        hops = self._hops
        if emission not in hops:
            return 0
        sender = self._log.senders[-emission & MASK]
        emissions, start = sender.emissions, hops.start_ps(record)
        index = (-emission >> BITS) - emissions.first
        not_before = min(emissions.not_before[index], start)
        last_sent = emissions.times[index - 1] if index else 0
        back = self._went_back(sender, last_sent, start, emissions.sequences[index]) if sender.went_back else None
        ready = not_before if back is None else max(not_before, sender.went_back[back].time_ps)
        ours, time_ps = self._in_line(record, ready)
        if ours or time_ps <= self._floor:
            return ours
        if back is not None:
            return self._first_sent(sender, back, index, not_before)
        last = hops.record(emission + (1 << BITS)) if index else 0
        found = Found(RATE, emissions.wire, sender.number)
        self._add(
            found, hops.start_ps(last) + self._takes_ps(last, hops.source(last)) if last else self._floor, time_ps
        )
        return last

    def _went_back(self, sender: SenderLog, after_ps: int, until_ps: int, sequence: int) -> int | None:
        """Return the index of the latest time that `sender` went back to `sequence` between two of its packets."""
        events = sender.went_back
        index = bisect_left(events, until_ps + 1, key=lambda event: event.time_ps) - 1
        if index < 0 or events[index].time_ps < after_ps or events[index].sequence != sequence:
            return None
        return index

    def _first_sent(self, sender: SenderLog, back: int, index: int, not_before: int) -> int:
        """The emission `index` sends a packet again: account for the time since it was sent before, and go on with
        that."""
        event, emissions = sender.went_back[back], sender.emissions
        until = event.time_ps
        if event.why == RNR_NAK:
            until = max(until, not_before)
        elif not_before > until:
            self._add(Found(RATE, emissions.wire, sender.number), until, not_before)
        earlier = self._sent_before(sender, index)
        record = self._hops.record(earlier) if earlier else 0
        since = self._hops.start_ps(record) if record else self._floor
        found = Found(RECOVERY, emissions.wire, sender.number, back)
        self._note_first_sent(found, since)
        self._add(found, since, until)
        self._seen.pop((sender.number, event.sequence), None)
        return record

    def _sent_before(self, sender: SenderLog, index: int) -> int:
        """Return the emission of the same packet before the one of `index`; 0 if it is forgotten."""
        emissions = sender.emissions
        sequences, wanted = emissions.sequences, emissions.sequences[index]
        for earlier in range(index - 1, -1, -1):
            if sequences[earlier] == wanted:
                return -((emissions.first + earlier) << BITS | emissions.sender)
        return 0

    def _add(self, found: Found, since_ps: int, until_ps: int) -> None:
        """`found` delayed the message from `since_ps` to `until_ps`, as far as that is after its post."""
        since_ps = max(since_ps, self._floor)
        if since_ps >= until_ps:
            return
        values = self._spans.get(found)
        if values is None:
            self._spans[found] = [until_ps - since_ps, since_ps, until_ps]
        else:
            values[0] += until_ps - since_ps
            values[1] = min(values[1], since_ps)
            values[2] = max(values[2], until_ps)
