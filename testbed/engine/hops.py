"""Which frame each wire carried when: what a walk back from an arrival to its cause goes over.

Each wire keeps a record of every frame that it begins to send: when, and what the frame *came from*. That is the
frame's record at its hop before; at its first hop its *emission*, the NIC's own account of it; or, of a frame that is
no queue pair's data (an acknowledgement, a pause frame), only its size on the wire. One number says which it is:

    record      above 2^20: its number on the wire << 20 | the wire
    emission    below 0: -(its number << 20 | its sender)
    size        from 1 to 2^20

Numbers count from 1 on in the order of time, so what a wire sent before a record is its neighbour. A record takes 16
bytes, an emission 32, and those that no unfinished message can lead to are forgotten; to ask for a forgotten one is an
error, so ask first whether it is there.
"""

from array import array
from bisect import bisect_left

BITS = 20
MASK = (1 << BITS) - 1
LEAST_RECORD = 1 << BITS


class WireLog:
    """The records of one wire, of number `wire`. `first` is the number of the oldest that is kept."""

    __slots__ = ("came_from", "first", "starts", "wire")

    def __init__(self, wire: int) -> None:
        self.wire = wire
        self.first = 1
        self.starts = array("q")
        self.came_from = array("q")

    def add(self, start_ps: int, came_from: int) -> int:
        """The wire begins to send a frame that `came_from` there; return its record."""
        starts = self.starts
        record = (self.first + len(starts)) << BITS | self.wire
        starts.append(start_ps)
        self.came_from.append(came_from)
        return record

    def forget_before(self, time_ps: int) -> None:
        """Forget what began before `time_ps`."""
        count = bisect_left(self.starts, time_ps)
        del self.starts[:count], self.came_from[:count]
        self.first += count


class EmissionLog:
    """The data packets that one sender (a queue pair) handed to its wire, of number `wire` in the log.

    Of each: when, which of the sender's packets it was (counted from 0), how long it had to wait for its turn
    (`not_before`), and its size on the wire. `first` is the number of the oldest that is kept.
    """

    __slots__ = ("first", "not_before", "sender", "sequences", "sizes", "times", "wire")

    def __init__(self, sender: int, wire: int) -> None:
        self.sender = sender
        self.wire = wire
        self.first = 1
        self.times = array("q")
        self.sequences = array("q")
        self.not_before = array("q")
        self.sizes = array("q")

    def add(self, now: int, sequence: int, not_before_ps: int, size_bytes: int) -> int:
        """A packet is handed over; return its emission."""
        times = self.times
        emission = -((self.first + len(times)) << BITS | self.sender)
        times.append(now)
        self.sequences.append(sequence)
        self.not_before.append(not_before_ps)
        self.sizes.append(size_bytes)
        return emission

    def forget_before(self, time_ps: int) -> None:
        """Forget what was handed over before `time_ps`."""
        count = bisect_left(self.times, time_ps)
        del self.times[:count], self.sequences[:count], self.not_before[:count], self.sizes[:count]
        self.first += count


class HopLog:
    """The records of all wires and the emissions of all senders, each by number; `names` are the wires' ports."""

    __slots__ = ("_numbers", "names", "senders", "wires")

    def __init__(self) -> None:
        self.names: list[str] = []
        self.wires: list[WireLog] = []
        self.senders: list[EmissionLog] = []
        self._numbers: dict[str, int] = {}

    def add_wire(self, name: str) -> WireLog:
        """Return the log of the wire that port `name` sends by."""
        log = WireLog(len(self.wires))
        self._numbers[name] = log.wire
        self.names.append(name)
        self.wires.append(log)
        return log

    def add_sender(self, name: str) -> EmissionLog:
        """Return the log of a new sender, which sends by port `name`."""
        log = EmissionLog(len(self.senders), self._numbers[name])
        self.senders.append(log)
        return log

    def __len__(self) -> int:
        """How many records are kept."""
        return sum(len(wire.starts) for wire in self.wires)

    def __contains__(self, number: int) -> bool:
        """Whether `number` is a record or an emission that is kept."""
        if number >= LEAST_RECORD:
            wire = self.wires[number & MASK]
            return wire.first <= number >> BITS < wire.first + len(wire.starts)
        if number < 0:
            sender = self.senders[-number & MASK]
            return sender.first <= -number >> BITS < sender.first + len(sender.times)
        return False

    def start_ps(self, record: int) -> int:
        """Return when the record's frame began to be sent."""
        wire = self.wires[record & MASK]
        return wire.starts[(record >> BITS) - wire.first]

    def came_from(self, record: int) -> int:
        """Return what the record's frame came from."""
        wire = self.wires[record & MASK]
        return wire.came_from[(record >> BITS) - wire.first]

    def source(self, record: int) -> int:
        """Return the emission of the record's frame, or the size of one without; 0 when the way to it is forgotten."""
        while record >= LEAST_RECORD:
            wire = self.wires[record & MASK]
            index = (record >> BITS) - wire.first
            if index < 0:
                return 0
            record = wire.came_from[index]
        return record

    def size_bytes(self, source: int) -> int:
        """Return the size on the wire of a frame with this source; 0 when it is forgotten."""
        if source >= 0:
            return source
        sender = self.senders[-source & MASK]
        index = (-source >> BITS) - sender.first
        return sender.sizes[index] if index >= 0 else 0

    def record(self, emission: int) -> int:
        """Return the record of an emission's first hop; 0 when there is none, or it is forgotten."""
        sender = self.senders[-emission & MASK]
        index = (-emission >> BITS) - sender.first
        if index < 0:
            return 0
        wire = self.wires[sender.wire]
        starts, came_from = wire.starts, wire.came_from
        at = bisect_left(starts, sender.times[index])
        while at < len(starts) and came_from[at] != emission:  # it was handed over before it could be sent
            at += 1
        return (wire.first + at) << BITS | wire.wire if at < len(starts) else 0

    def forget_before(self, time_ps: int) -> None:
        """Forget what began before `time_ps`."""
        for wire in self.wires:
            wire.forget_before(time_ps)
        for sender in self.senders:
            sender.forget_before(time_ps)
