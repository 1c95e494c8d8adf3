"""Gives what a walk has found its name: which flow was in front, who paused, which packet was lost, who marked.

A walk knows wires, queue pairs and times. When the run is over, drops, pauses and marks are known as well, and the two
are brought together here.

Known limits: of several pauses that held a port meanwhile, the longest is named; the marks named are all that the queue
pair's packets ever got, at the port that marked most of them.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from ipaddress import ip_address

from testbed.fabric.plan import FabricPlan
from testbed.measurement.causes.collect import TransitCollector
from testbed.measurement.causes.model import (
    CONTROLLER,
    CREDIT,
    LATE_ACK,
    LINK_DOWN,
    LOST_PACKET,
    OUT_OF_ORDER,
    PAUSED,
    QUEUE,
    RATE,
    RECEIVER_NOT_READY,
    WINDOW,
    Cause,
    Packet,
)
from testbed.measurement.causes.walk import CONTROL, RECOVERY, Found, Stretch
from testbed.measurement.causes.walk import CREDIT as FOUND_CREDIT
from testbed.measurement.causes.walk import PAUSED as FOUND_PAUSED
from testbed.measurement.causes.walk import QUEUE as FOUND_QUEUE
from testbed.measurement.causes.walk import RATE as FOUND_RATE
from testbed.measurement.pauses import PauseRecord, PauseReport
from testbed.measurement.records import DropRecord
from traffic.nic.transit import RNR_NAK, TIMEOUT, SenderLog, WentBack
from traffic.wire.psn import PSN_MODULUS, psn_distance

_RESPONSE_PS = 1_000_000
"""More than any port takes to obey a pause frame that it has received."""


class Naming:
    """Names causes, each with a number; equal ones have the same."""

    def __init__(
        self,
        plan: FabricPlan,
        collector: TransitCollector,
        drops: Sequence[DropRecord],
        pauses: PauseReport | None,
    ) -> None:
        self.causes: list[Cause] = []
        self._numbers: dict[Cause, int] = {}
        self._plan = plan
        self._collector = collector
        self._pauses = _Pauses(pauses, collector.margin_ps + _RESPONSE_PS)
        self._drops = _drops_by_queue_pair(drops)
        self._recoveries: dict[tuple[int, int], Cause] = {}
        self._hosts = {ip_address(text).packed: nic.host for nic in plan.nics for text in (nic.ipv4, nic.ipv6)}
        self._several_owners = len({log.qp.owner for log in collector.log.senders}) > 1

    def number(self, cause: Cause) -> int:
        """Return the number of a cause, a new one if there was none like it."""
        found = self._numbers.get(cause)
        if found is None:
            found = self._numbers[cause] = len(self.causes)
            self.causes.append(cause)
        return found

    def cause_of(self, stretch: Stretch) -> int:
        """Return the number of the cause of a stretch of a message's way."""
        found = stretch.found
        wire = self._collector.wires[found.wire].port
        if found.kind == FOUND_QUEUE:
            return self.number(Cause(QUEUE, wire, f"behind {self.flow(found.about)}"))
        if found.kind == FOUND_PAUSED:
            return self.number(self._paused(wire, stretch))
        if found.kind == FOUND_CREDIT:
            return self.number(Cause(CREDIT, wire, f"no credit from {self._plan.far_end(wire).name}"))
        if found.kind == FOUND_RATE:
            return self.number(self._limited(RATE, wire, self._collector.log.senders[found.about]))
        if found.kind != RECOVERY:
            return self.number(self._idle(wire, self._collector.log.senders[found.about]))
        key = found.about, found.event
        if key not in self._recoveries:
            self._recoveries[key] = self._recovery(wire, found)
        return self.number(self._recoveries[key])

    def flow(self, number: int) -> str:
        """Return a flow in words: ``h0 to h1``, and of which job where there are several."""
        if number == CONTROL:
            return "acknowledgements and control frames"
        owner, nic, address = self._collector.flow(number)
        text = f"{self._plan.nic_by_name[nic].host} to {self._host(address)}"
        return f"{text} ({owner})" if self._several_owners and owner and text not in owner else text

    def _host(self, address: str) -> str:
        return self._hosts[ip_address(address).packed]

    # --- paused, idle, rate -------------------------------------------------------------------------------------------

    def _paused(self, wire: str, stretch: Stretch) -> Cause:
        """An idle wire while its port was paused: who did that."""
        pause = self._pauses.longest(wire, stretch.found.about, stretch.first_ps, stretch.last_ps)
        if pause is not None:
            began = "" if pause.root == pause.sender else f", which was held up by {pause.root}"
            about = f"paused by {pause.sender}{began}{self._pauses.kind(pause.root)}"
            return Cause(PAUSED, wire, about, origin=pause.root)
        far_end = self._plan.far_end(wire).name
        return Cause(PAUSED, wire, f"paused by {far_end}, by frames that the controller sent", origin=far_end)

    def _idle(self, wire: str, sender: SenderLog) -> Cause:
        """An idle wire that nothing held: at a NIC, `sender` had as much under way as it might."""
        if wire in self._plan.nic_by_name:
            return self._limited(WINDOW, wire, sender)
        return Cause(CONTROLLER, wire, "neither paused nor busy")

    def _limited(self, limit: str, wire: str, sender: SenderLog) -> Cause:
        """A queue pair that its rate or window held back: what set that, and where its packets were marked."""
        options = sender.qp.settings.congestion
        kind = options.kind if options is not None else "no congestion control"
        marks = self._collector.marks.get(sender.number)
        if not marks:
            return Cause(limit, wire, f"{kind} of {self._flow_of(sender)}, QP {sender.qp.number}")
        port, count = max(marks.items(), key=lambda item: (item[1], item[0]))
        about = f"{kind} of {self._flow_of(sender)}, QP {sender.qp.number}: {count} marks at {port}"
        return Cause(limit, wire, about, origin=port)

    def _flow_of(self, sender: SenderLog) -> str:
        assert sender.qp.peer is not None
        return f"{self._plan.nic_by_name[sender.qp.nic.name].host} to {self._host(sender.qp.peer.ip)}"

    # --- recovery -----------------------------------------------------------------------------------------------------

    def _recovery(self, wire: str, found: Found) -> Cause:
        sender = self._collector.log.senders[found.about]
        back = sender.went_back[found.event]
        since = sender.went_back[found.event - 1].time_ps if found.event else 0
        drop = self._lost(sender, back, since)
        packet = self._packet(sender, back, self._collector.first_sent_ps(found), drop)
        what = f"{packet.source} to {packet.destination}, QP {packet.qp}, PSN {packet.psn}"
        if back.why == RNR_NAK:
            return Cause(RECEIVER_NOT_READY, wire, what, packet=packet)
        how = "a timeout" if back.why == TIMEOUT else "a NAK"
        if drop is None:
            kind = LATE_ACK if back.why == TIMEOUT else OUT_OF_ORDER
            return Cause(kind, wire, f"{what}: sent again after {how}", packet=packet)
        kind = LINK_DOWN if drop.reason == LINK_DOWN else LOST_PACKET
        return Cause(kind, drop.where, f"{what}: {drop.reason}, found by {how}", packet=packet)

    def _packet(self, sender: SenderLog, back: WentBack, first_ps: int, drop: DropRecord | None) -> Packet:
        qp = sender.qp
        assert qp.peer is not None
        source = self._plan.nic_by_name[qp.nic.name].host
        psn = (qp.settings.initial_psn + back.sequence) % PSN_MODULUS if drop is None else drop.psn
        assert psn is not None
        return Packet(
            source=source,
            destination=self._host(qp.peer.ip),
            qp=qp.peer.queue_pair,
            psn=psn,
            first_sent_ps=first_ps,
            found_ps=back.time_ps,
            found_by=back.why,
            lost_ps=None if drop is None else drop.time_ps,
            where=None if drop is None else drop.where,
            reason=None if drop is None else drop.reason,
        )

    def _lost(self, sender: SenderLog, back: WentBack, since_ps: int) -> DropRecord | None:
        """Return which of the packets that are sent again was lost: the first of them, the latest time that it was.

        A packet that was lost before the sender last went back counts if it is the very one that is missed now.
        """
        qp = sender.qp
        assert qp.peer is not None
        drops = self._drops.get((self._plan.nic_by_name[qp.nic.name].host, qp.peer.queue_pair), ())
        first_psn = (qp.settings.initial_psn + back.sequence) % PSN_MODULUS
        candidates = []
        for drop in drops:
            assert drop.psn is not None
            ahead = psn_distance(drop.psn, first_psn)
            sent_again = 0 <= ahead < back.end - back.sequence and drop.time_ps <= back.time_ps
            if sent_again and (drop.time_ps >= since_ps or not ahead):
                candidates.append((ahead, -drop.time_ps, drop))
        return min(candidates, key=lambda item: item[:2])[2] if candidates else None


def _drops_by_queue_pair(drops: Sequence[DropRecord]) -> Mapping[tuple[str, int], list[DropRecord]]:
    """Return lost data packets by their source and destination queue pair."""
    found: dict[tuple[str, int], list[DropRecord]] = {}
    for drop in drops:
        if drop.kind == "data" and drop.source is not None and drop.qp is not None and drop.psn is not None:
            found.setdefault((drop.source, drop.qp), []).append(drop)
    return found


class _Pauses:
    """The pauses of each port and priority, by when they began. They take effect, and end, up to `lag_ps` after the
    decision that is on record."""

    def __init__(self, report: PauseReport | None, lag_ps: int) -> None:
        self._lag_ps = lag_ps
        self._of: dict[tuple[str, int | None], list[PauseRecord]] = {}
        self._kinds = {root.port: root.kind for root in report.roots} if report else {}
        for pause in sorted(report.pauses, key=lambda each: each.start_ps) if report else ():
            self._of.setdefault((pause.paused, pause.priority), []).append(pause)

    def kind(self, root: str) -> str:
        """Return what else is known about a root."""
        return {"storm": " (a pause storm)", "nic": " (its NIC)"}.get(self._kinds.get(root, ""), "")

    def longest(self, port: str, priority: int, since_ps: int, until_ps: int) -> PauseRecord | None:
        """Return the pause of a port and priority that covered most of the time from `since_ps` to `until_ps`; None
        when there was none."""
        best: tuple[int, int, PauseRecord] | None = None
        for pauses in (self._of.get((port, priority), ()), self._of.get((port, None), ())):
            for index in range(bisect_right(pauses, until_ps, key=lambda pause: pause.start_ps) - 1, -1, -1):
                pause = pauses[index]
                end_ps = until_ps if pause.end_ps is None else pause.end_ps + self._lag_ps
                if end_ps < since_ps:
                    break
                covered = min(end_ps, until_ps) - max(pause.start_ps, since_ps)
                if best is None or (covered, pause.start_ps) > best[:2]:
                    best = covered, pause.start_ps, pause
        return best[2] if best else None
