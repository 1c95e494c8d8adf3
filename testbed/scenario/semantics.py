"""What the schema cannot say: names that must exist, orders and sums. Each check is a generator of problems.

The names come from the plan of the fabric that the scenario asks for. Checks work on a whole scenario in which broken
parts have stand-ins; `Draft.sound` tells these apart, so that only true mistakes are reported, and all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from controllers.policy import catalogue
from controllers.policy.options import options_of, read_options
from testbed.fabric.build import build_plan
from testbed.scenario import wording, wording_sizes
from testbed.scenario.document import Document, KeyPath, Mistake
from testbed.scenario.draft import Draft, Problem, Problems
from testbed.scenario.expectations import SUMMARY_NAMES, BadCondition, condition
from testbed.scenario.limits import ELEMENT_BYTES, FLOW_MESSAGE_BYTES, MAXIMUM_MESSAGE_BYTES, MAXIMUM_PIECES
from testbed.scenario.model import Flows, LinkDown, PauseStorm, RingAllReduce, Scenario
from testbed.scenario.quantities import TIME
from testbed.scenario.semantics_qos import check_classes, check_storm


def check_semantics(document: Document, scenario: Scenario, broken: set[KeyPath]) -> list[Mistake]:
    """Return all mistakes that only the whole scenario shows."""
    draft = Draft(scenario, build_plan(scenario.fabric), frozenset(broken))
    return [
        Mistake(
            (document.key_place if problem.at_key else document.value_place)(problem.path), problem.path, problem.text
        )
        for check in _CHECKS
        for problem in check(draft)
    ]


# --- workload --------------------------------------------------------------------------------------------------------


def _workload(draft: Draft) -> Problems:
    for index, work in enumerate(draft.scenario.workload):
        path: KeyPath = ("workload", index)
        if not draft.sound(*path, "kind"):
            continue
        if isinstance(work, RingAllReduce):
            yield from _ranks(draft, work, path)
            yield from _elements(draft, work, path)
            yield from _pieces(draft, work, path)
        else:
            yield from _pattern(draft, work, path)
            yield from _flows(draft, work, path)


def _ranks(draft: Draft, work: RingAllReduce, path: KeyPath) -> Problems:
    if work.ranks == "all":
        if draft.sound(*path, "ranks") and draft.names_known and len(draft.plan.hosts) < 2:
            yield Problem(path, wording.too_few_hosts(len(draft.plan.hosts)))
        return
    if len(work.ranks) < 2:
        yield Problem((*path, "ranks"), wording.too_few_ranks(len(work.ranks)))
    yield from _names(draft, work.ranks, (*path, "ranks"), "host", list(draft.plan.host_by_name))


def _elements(draft: Draft, work: RingAllReduce, path: KeyPath) -> Problems:
    """Sizes are of whole elements. They need not be a multiple of the ranks: parts may differ by one element."""
    for key, size_bytes in (("size", work.size), ("chunk", work.chunk)):
        if size_bytes is not None and size_bytes % ELEMENT_BYTES and draft.sound(*path, key):
            yield Problem((*path, key), wording_sizes.not_whole_elements(size_bytes))


def _pieces(draft: Draft, work: RingAllReduce, path: KeyPath) -> Problems:
    """Each rank sends a part on in pieces, a message each: none too long, and not too many."""
    ranks = len(draft.plan.hosts) if work.ranks == "all" else len(work.ranks)
    ranks_known = draft.names_known if work.ranks == "all" else draft.sound(*path, "ranks")
    if not ranks or not ranks_known or not all(draft.sound(*path, key) for key in ("size", "chunk")):
        return
    part_bytes = -(-work.size // (ranks * ELEMENT_BYTES)) * ELEMENT_BYTES
    piece_bytes = min(work.chunk or part_bytes, part_bytes)
    most_bytes = MAXIMUM_PIECES * MAXIMUM_MESSAGE_BYTES
    if part_bytes > most_bytes:
        yield Problem((*path, "size"), wording_sizes.parts_too_long(work.size, ranks, most_bytes))
    elif piece_bytes > MAXIMUM_MESSAGE_BYTES and work.chunk is None:
        yield Problem(
            (*path, "size"), wording_sizes.part_needs_chunk(part_bytes, MAXIMUM_MESSAGE_BYTES, MAXIMUM_PIECES)
        )
    elif piece_bytes > MAXIMUM_MESSAGE_BYTES:
        text = wording_sizes.chunk_too_long(piece_bytes, part_bytes, MAXIMUM_MESSAGE_BYTES, MAXIMUM_PIECES)
        yield Problem((*path, "chunk"), text)
    elif part_bytes > piece_bytes * MAXIMUM_PIECES:
        yield Problem((*path, "chunk"), wording_sizes.too_many_pieces(piece_bytes, part_bytes, MAXIMUM_PIECES))


def _messages(draft: Draft, size_bytes: int | None, path: KeyPath) -> Problems:
    """A flow is not too many messages."""
    if size_bytes is not None and size_bytes > MAXIMUM_PIECES * FLOW_MESSAGE_BYTES and draft.sound(*path):
        yield Problem(path, wording_sizes.flow_too_long(size_bytes, MAXIMUM_PIECES, FLOW_MESSAGE_BYTES))


def _pattern(draft: Draft, work: Flows, path: KeyPath) -> Problems:
    """Either a pattern with a size, or listed flows."""
    if not all(draft.sound(*path, key) for key in ("pattern", "size", "flows")):
        return
    if work.pattern == "listed":
        if work.size is not None:
            yield Problem((*path, "size"), wording.size_without_pattern(), at_key=True)
        elif not work.flows:
            yield Problem(path, wording.no_flows())
        return
    yield from _messages(draft, work.size, (*path, "size"))
    if work.flows:
        yield Problem((*path, "flows"), wording.flows_with_pattern(work.pattern), at_key=True)
    if work.size is None:
        yield Problem(path, wording.pattern_without_size(work.pattern))
    if draft.names_known and len(draft.plan.hosts) < 2:
        yield Problem((*path, "pattern"), wording.too_few_hosts(len(draft.plan.hosts)))


def _flows(draft: Draft, work: Flows, path: KeyPath) -> Problems:
    hosts = list(draft.plan.host_by_name)
    for index, flow in enumerate(work.flows):
        here = (*path, "flows", index)
        for key, name in (("source", flow.source), ("destination", flow.destination)):
            yield from _name(draft, name, (*here, key), "host", hosts)
        yield from _messages(draft, flow.size, (*here, "size"))
        ends_known = draft.sound(*here, "source") and draft.sound(*here, "destination")
        if flow.source == flow.destination and ends_known:
            yield Problem((*here, "destination"), wording.flow_to_itself(flow.destination))


# --- controller ------------------------------------------------------------------------------------------------------


def _controller(draft: Draft) -> Problems:
    """Names of applications and policies, and a policy's options. A user's file is left to the controller's process."""
    options = draft.scenario.controller
    if draft.sound("controller", "app") and not catalogue.is_file(options.app) and options.app not in _apps():
        yield Problem(("controller", "app"), catalogue.unknown_name("controller application", options.app, _apps()))
    if options.policy is None or not draft.sound("controller", "policy"):
        return
    path: KeyPath = ("controller", "policy")
    kind = options.policy.get("kind")
    if not isinstance(kind, str):
        yield Problem(path if kind is None else (*path, "kind"), wording.policy_without_kind(kind))
    elif kind in catalogue.policy_names():
        yield from _policy(draft, kind, {name: value for name, value in options.policy.items() if name != "kind"})
    elif not catalogue.is_file(kind):
        yield Problem((*path, "kind"), catalogue.unknown_name("policy", kind, catalogue.policy_names()))


def _apps() -> tuple[str, ...]:
    return catalogue.app_names()


def _policy(draft: Draft, kind: str, given: dict[str, Any]) -> Problems:
    """A policy of the project's own: its options, and what it needs of the rest of the scenario."""
    path: KeyPath = ("controller", "policy")
    policy = catalogue.builtin_policy(kind)
    for mistake in read_options(policy, kind, given)[1]:
        unknown = mistake.name is not None and mistake.name not in {option.name for option in options_of(policy)}
        yield Problem((*path, mistake.name) if mistake.name else path, mistake.text, at_key=unknown or not mistake.name)
    if policy.needs_app not in (None, draft.scenario.controller.app):
        yield Problem((*path, "kind"), wording.policy_needs_app(kind, str(policy.needs_app)))
    qos = draft.scenario.fabric.qos
    has = {"fabric.qos": qos is not None, "fabric.qos.pfc": qos is not None and qos.pfc is not None}
    if policy.needs_section is not None and not has[policy.needs_section] and draft.sound("fabric", "qos"):
        yield Problem((*path, "kind"), wording.policy_needs_section(kind, policy.needs_section))


# --- faults and measure ----------------------------------------------------------------------------------------------


def _faults(draft: Draft) -> Problems:
    links = [link.name for link in draft.plan.links]
    ports = list(draft.plan.link_at)
    for index, fault in enumerate(draft.scenario.faults):
        path: KeyPath = ("faults", index)
        if not draft.sound(*path, "kind"):
            continue
        if not isinstance(fault, LinkDown):
            yield from _name(draft, fault.port, (*path, "port"), "port", ports)
            if not isinstance(fault, PauseStorm):
                continue
            yield from check_storm(draft, fault, path)
        else:
            yield from _name(draft, fault.link, (*path, "link"), "link", links)
        times_known = draft.sound(*path, "at") and draft.sound(*path, "until")
        if fault.until is not None and fault.until <= fault.at and times_known:
            yield Problem((*path, "until"), wording.not_after(TIME.text(fault.until), TIME.text(fault.at)))


def _capture(draft: Draft) -> Problems:
    capture = draft.scenario.measure.capture
    if capture != "all":
        yield from _names(draft, capture, ("measure", "capture"), "port", list(draft.plan.link_at))


# --- expect ----------------------------------------------------------------------------------------------------------


def _expect(draft: Draft) -> Problems:
    for path, value in draft.scenario.expect.items():
        if path.partition(".")[0] not in SUMMARY_NAMES:
            yield Problem(("expect", path), wording.unknown_summary_name(path, SUMMARY_NAMES), at_key=True)
        try:
            condition(path, value)
        except BadCondition as bad:
            yield Problem(("expect", path, *bad.where), bad.text)


# --- names -----------------------------------------------------------------------------------------------------------


def _names(draft: Draft, names: Sequence[str], path: KeyPath, noun: str, known: Sequence[str]) -> Problems:
    """Each of `names` must be known, and stand there once."""
    first: dict[str, KeyPath] = {}
    for index, name in enumerate(names):
        here = (*path, index)
        yield from _name(draft, name, here, noun, known)
        if draft.sound(*here) and name in first:
            yield Problem(here, wording.listed_twice(name, first[name]))
        elif draft.sound(*here):
            first[name] = here


def _name(draft: Draft, name: str, path: KeyPath, noun: str, known: Sequence[str]) -> Problems:
    if draft.names_known and draft.sound(*path) and name not in known:
        yield Problem(path, wording.not_in_fabric(noun, name, known))


_CHECKS: tuple[Callable[[Draft], Problems], ...] = (
    check_classes,
    _controller,
    _workload,
    _faults,
    _capture,
    _expect,
)
