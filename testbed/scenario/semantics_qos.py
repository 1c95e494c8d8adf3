"""What the schema cannot say about traffic classes: sums of memory, orders of thresholds, who can cause a pause
storm."""

from __future__ import annotations

from testbed.fabric.buffers import (
    BLOCK_BYTES,
    MOST_BLOCKS,
    WIRE_OVERHEAD_BYTES,
    largest_frame_bytes,
    memory_plan,
    pause_ps,
)
from testbed.scenario import wording, wording_qos
from testbed.scenario.document import KeyPath
from testbed.scenario.draft import Draft, Problem, Problems
from testbed.scenario.model import PauseStorm
from testbed.scenario.qos import CreditOptions, EcnOptions, PfcOptions, QosOptions
from testbed.scenario.quantities import SIZE, TIME
from testbed.units import serialisation_ps

_PATH: KeyPath = ("fabric", "qos")


def check_classes(draft: Draft) -> Problems:
    """Check ``fabric.qos`` as a whole."""
    qos = draft.scenario.fabric.qos
    if qos is None or not draft.sound(*_PATH[:1]):
        return
    yield from _priorities(draft, qos)
    for priority, ecn in qos.ecn.items():
        yield from _ecn(draft, ecn, (*_PATH, "ecn", str(priority)))
    if qos.pfc is not None and draft.sound(*_PATH, "pfc"):
        yield from _quanta(draft, qos.pfc)
        yield from _watchdog(draft, qos.pfc)
    if qos.credits is not None and draft.sound(*_PATH, "credits"):
        yield from _credits(draft, qos, qos.credits)
    yield from _memory(draft, qos)


def _priorities(draft: Draft, qos: QosOptions) -> Problems:
    for key, priorities in (("lossless", qos.lossless), ("strict", qos.strict)):
        first: dict[int, KeyPath] = {}
        for index, priority in enumerate(priorities):
            here = (*_PATH, key, index)
            if priority in first and draft.sound(*here):
                yield Problem(here, wording.listed_twice(str(priority), first[priority]))
            first.setdefault(priority, here)
    for priority in qos.weights:
        if priority in qos.strict and draft.sound(*_PATH, "strict"):
            yield Problem((*_PATH, "weights", str(priority)), wording_qos.strict_has_weight(priority), at_key=True)


def _ecn(draft: Draft, ecn: EcnOptions, path: KeyPath) -> Problems:
    ends = (("kmin", ecn.kmin, "kmax", ecn.kmax, SIZE), ("tmin", ecn.tmin, "tmax", ecn.tmax, TIME))
    for low, low_value, high, high_value, quantity in ends:
        if low_value > high_value and draft.sound(*path, low) and draft.sound(*path, high):
            text = wording_qos.ends_cross(low, quantity.text(low_value), high, quantity.text(high_value))
            yield Problem((*path, high), text)
    if ecn.wred and ecn.by == "time" and draft.sound(*path, "wred") and draft.sound(*path, "by"):
        yield Problem((*path, "wred"), wording_qos.wred_by_time())


def _quanta(draft: Draft, pfc: PfcOptions) -> Problems:
    """A pause must not run out before its refresh is obeyed, which may wait for a largest frame on the wire back."""
    path = (*_PATH, "pfc")
    if not all(draft.sound(*path, key) for key in ("quanta", "refresh")) or not draft.names_known:
        return
    wire_bytes = largest_frame_bytes(draft.scenario.transport.mtu, draft.plan.ip_version) + WIRE_OVERHEAD_BYTES
    for link in draft.plan.links:
        pause, frame = pause_ps(pfc.quanta, link.rate_bps), serialisation_ps(wire_bytes, link.rate_bps)
        if pause * (1 - pfc.refresh) < frame:
            yield Problem((*path, "quanta"), wording_qos.pause_too_short(link.a.name, pause, frame, pfc.refresh))
            return


def _watchdog(draft: Draft, pfc: PfcOptions) -> Problems:
    """A watchdog cannot tell how long a queue has been paused more finely than it looks; SONiC refuses it, too."""
    path, watchdog = (*_PATH, "pfc", "watchdog"), pfc.watchdog
    if watchdog is None or not all(draft.sound(*path, key) for key in ("detect", "poll")):
        return
    if watchdog.detect < watchdog.poll:
        text = wording_qos.detects_between_looks(watchdog.poll, watchdog.detect)
        yield Problem((*path, "detect"), text)


def _credits(draft: Draft, qos: QosOptions, credits: CreditOptions) -> Problems:
    """There is one kind of flow control, and a lane's buffer holds a frame and can be advertised."""
    path = (*_PATH, "credits")
    if qos.pfc is not None:
        yield Problem(path, wording_qos.two_flow_controls(), at_key=True)
    path = (*path, "vl_buffer")
    if credits.vl_buffer == "auto" or not draft.sound(*path):
        return
    if credits.vl_buffer > MOST_BLOCKS * BLOCK_BYTES:
        yield Problem(path, wording_qos.lane_too_large(MOST_BLOCKS * BLOCK_BYTES, credits.vl_buffer))
    elif draft.sound("transport", "mtu") and draft.sound("fabric", "ip"):
        mtu = draft.scenario.transport.mtu
        frame_bytes = largest_frame_bytes(mtu, 6 if draft.scenario.fabric.ip == "ipv6" else 4)
        needed = -(-frame_bytes // BLOCK_BYTES) * BLOCK_BYTES
        if credits.vl_buffer < needed:
            yield Problem(path, wording_qos.lane_too_small(needed, mtu, credits.vl_buffer))


def _memory(draft: Draft, qos: QosOptions) -> Problems:
    """The switch that has least left to share must have something."""
    of_memory = (("fabric", "switch"), ("fabric", "link"), _PATH, ("transport", "mtu"))
    if not draft.names_known or not all(draft.sound(*path) for path in of_memory):
        return
    plan = draft.plan
    plans = {switch.name: memory_plan(plan, switch, qos, draft.scenario.transport.mtu) for switch in plan.switches}
    name, memory = min(plans.items(), key=lambda item: item[1].shared_bytes)
    if memory.shared_bytes <= 0:
        headroom = memory.headroom_bytes
        text = wording_qos.memory_too_small(
            name,
            memory.buffer_bytes,
            len(headroom),
            qos.reserved,
            sum(headroom.values()),
            memory.lossless,
            has_credits=qos.credits is not None,
        )
        yield Problem(("fabric", "switch", "buffer"), text)


def check_storm(draft: Draft, fault: PauseStorm, path: KeyPath) -> Problems:
    """Check one pause storm: it comes from a NIC, and its switch obeys."""
    qos = draft.scenario.fabric.qos
    nics = draft.plan.nic_by_name
    if fault.port in draft.plan.link_at and fault.port not in nics and draft.names_known:
        yield Problem((*path, "port"), wording_qos.storm_of_a_switch(fault.port, next(iter(nics))))
    if not draft.sound(*_PATH):
        return
    if qos is None or qos.pfc is None:
        yield Problem((*path, "kind"), wording_qos.storm_needs_flow_control())
    elif fault.priority not in qos.lossless and qos.pfc.kind == "pfc" and draft.sound(*path, "priority"):
        text = wording_qos.storm_of_a_lossy_priority(fault.priority, qos.lossless)
        yield Problem((*path, "priority"), text)
