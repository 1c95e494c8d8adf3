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
from testbed.scenario import wording, wording_collectives
from testbed.scenario.collectives import Collective
from testbed.scenario.document import Document, KeyPath, Mistake
from testbed.scenario.draft import Draft, Problem, Problems
from testbed.scenario.expectations import SUMMARY_NAMES, BadCondition, condition
from testbed.scenario.model import LinkDown, PauseStorm, Scenario, Work
from testbed.scenario.quantities import TIME
from testbed.scenario.replay import PacketReplay
from testbed.scenario.semantics_collectives import check_collective
from testbed.scenario.semantics_flows import check_flows
from testbed.scenario.semantics_hosts import check_hosts
from testbed.scenario.semantics_qos import check_classes, check_storm
from testbed.scenario.semantics_replay import check_replay
from testbed.scenario.semantics_traces import check_trace
from testbed.scenario.traces import TraceReplay


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
    names: dict[str, KeyPath] = {}
    for index, work in enumerate(draft.scenario.workload):
        path: KeyPath = ("workload", index)
        if not draft.sound(*path, "kind"):
            continue
        if work.name is not None and draft.sound(*path, "name"):
            if work.name in names:
                yield Problem((*path, "name"), wording_collectives.name_taken(work.name, names[work.name]))
            names.setdefault(work.name, path)
        yield from _work(draft, work, path)


def _work(draft: Draft, work: Work, path: KeyPath) -> Problems:
    if isinstance(work, Collective):
        yield from check_collective(draft, work, path)
    elif isinstance(work, TraceReplay):
        yield from check_trace(draft, work, path)
    elif isinstance(work, PacketReplay):
        yield from check_replay(draft, work, path)
    else:
        yield from check_flows(draft, work, path)


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
    check_hosts,
    check_classes,
    _controller,
    _workload,
    _faults,
    _capture,
    _expect,
)
