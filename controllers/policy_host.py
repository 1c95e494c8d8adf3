"""Runs a policy inside the controller's process: asks it, checks what it answers, and says where it went wrong.

Whatever a policy does wrong ends the run with one line that names the policy, the hook, the model time and the line of
its file:

- it raises: the innermost line of its own file;
- it hangs: the line that it is at when `WALL_LIMIT_S` has passed (an alarm signal finds it there), or, while it is
  loaded, `LOAD_LIMIT_S`;
- it answers nonsense, or without end: the line that yielded it, or that returned it.

OpenFlow actions stay here, by the serial number of the question, until the testbed says that their time has come;
actions on the model go to the testbed.
"""

import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType, GeneratorType
from typing import Any

from controllers.channel import WALL_LIMIT_S, AskPolicy, Decision
from controllers.failures import place_of, report
from controllers.policy.actions import (
    ENGINE_ACTIONS,
    OPENFLOW_ACTIONS,
    Action,
    OpenFlowAction,
    PacketOut,
    SendPause,
    as_json,
)
from controllers.policy.base import Policy
from controllers.policy.catalogue import policy_class
from controllers.policy.options import read_options
from controllers.policy.telemetry import Telemetry
from controllers.time_limit import time_limit
from testbed.errors import ScenarioError
from testbed.fabric.plan import FabricPlan
from testbed.units import format_time

LOAD_LIMIT_S = min(10.0, WALL_LIMIT_S)
"""A policy is loaded within this wall time: a live session, whose clock stands still meanwhile, waits for it."""

MOST_ACTIONS = 100_000
"""Of one answer: a generator that never ends is named long before its wall time, or memory, is used up."""


class PolicyError(Exception):
    """The policy has failed; the text is the whole message."""


class PolicyHost:
    """One policy and what it wants. `shown` is what the scenario calls it, `source` its file.

    Attributes:
        rehearse: makes an OpenFlow action's message without sending it, and raises what is wrong with it: when the
            action's time comes, nobody knows its line any more.
    """

    def __init__(self, policy: Policy, shown: str, source: str, plan: FabricPlan) -> None:
        self.shown = shown
        self.source = source
        self._policy = policy
        self._plan = plan
        self._ports = {port.name: port for switch in plan.switches for port in switch.ports}
        self._kept: dict[int, list[OpenFlowAction]] = {}
        self.rehearse: Callable[[OpenFlowAction], object] | None = None

    def answer(self, question: AskPolicy) -> Decision:
        """Call the hook that `question` names. Raises PolicyError."""
        when = f"policy {self.shown}, {question.hook} at {format_time(question.time_ps)}"
        try:
            answer = getattr(self._policy, question.hook)(*self._arguments(question))
            actions = list(self._checked(question.hook, answer))
        except PolicyError as error:
            raise PolicyError(f"{when}: {error}") from None
        except BaseException as error:  # SystemExit and KeyboardInterrupt too: they would end only this green thread
            raise PolicyError(f"{when}: {report(error, self.source)}") from None
        kept = [action for action in actions if isinstance(action, OPENFLOW_ACTIONS)]
        if kept:
            self._kept[question.serial] = kept
        model = [as_json(action) for action in actions if isinstance(action, ENGINE_ACTIONS)]
        return Decision(question.serial, model, len(kept))

    @property
    def sees_flows(self) -> bool:
        """Whether it wants to be told of flows."""
        return self._policy.sees_flows

    def take(self, serial: int) -> list[OpenFlowAction]:
        """Return the OpenFlow actions kept under `serial`, whose time has come."""
        return self._kept.pop(serial, [])

    def _arguments(self, question: AskPolicy) -> tuple[Any, ...]:
        match question.hook:
            case "on_start":
                return (self._plan,)
            case "on_interval":
                return (Telemetry.from_json(question.argument),)
            case _:
                return (question.argument,)

    # --- what it answers ----------------------------------------------------------------------------------------------

    def _checked(self, hook: str, answer: Any) -> Iterator[Action]:
        """Yield the actions of an answer; raise PolicyError at the first thing that is none."""
        if answer is None:
            return
        if isinstance(answer, (str, bytes, Mapping)) or not hasattr(answer, "__iter__"):
            raise PolicyError(f"{self._line(hook, answer)}: expected actions or nothing, found {_shown(answer)}")
        for number, action in enumerate(answer):
            if number == MOST_ACTIONS:
                raise PolicyError(f"{self._line(hook, answer)}: it answered more than {MOST_ACTIONS:,} actions")
            problem = self._problem(action)
            if problem:
                raise PolicyError(f"{self._line(hook, answer)}: {problem}")
            yield action

    def _problem(self, action: Any) -> str | None:
        if not isinstance(action, (*ENGINE_ACTIONS, *OPENFLOW_ACTIONS)):
            return f"expected an action such as SetEcn(...), found {_shown(action)}"
        port, switch = getattr(action, "port", None), getattr(action, "switch", None)
        if port is not None and port not in self._ports:
            return f"{port!r} is not a switch port of this fabric, in {_shown(action)}"
        if switch is not None and switch not in self._plan.switch_by_name:
            return f"{switch!r} is not a switch of this fabric, in {_shown(action)}"
        return self._refusal(action) if isinstance(action, OPENFLOW_ACTIONS) else None

    def _refusal(self, action: OpenFlowAction) -> str | None:
        """Say why no OpenFlow message can be made of an action, in Ryu's words."""
        try:
            if self.rehearse is not None:
                self.rehearse(action)
        except Exception as error:
            return f"no OpenFlow message can be made of {_shown(action)}: {type(error).__name__}: {error}"
        return None

    def _line(self, hook: str, answer: Any) -> str:
        """Say where an answer comes from: the line at which a generator stands, else the hook's first."""
        if isinstance(answer, GeneratorType) and answer.gi_frame is not None:
            return place_of(self.source, answer.gi_frame.f_lineno)
        return place_of(self.source, getattr(type(self._policy), hook).__code__.co_firstlineno)

    # --- OpenFlow -----------------------------------------------------------------------------------------------------

    def switch_of(self, action: OpenFlowAction) -> str:
        """Return the switch that an OpenFlow action is for."""
        return self._ports[action.port].node if isinstance(action, (PacketOut, SendPause)) else action.switch

    def port_number(self, name: str) -> int:
        """Return the OpenFlow number of a port."""
        return self._ports[name].number


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def load_policy(
    name: str,
    given: Mapping[str, Any],
    plan: FabricPlan,
    app: str,
    limit_s: float = LOAD_LIMIT_S,
    green_thread: Callable[[], Any] | None = None,
) -> PolicyHost:
    """Make the policy `name` (one of the project's own, or a path) with the options `given`, within `limit_s` of wall
    time. `green_thread` returns the running one, where there are any.

    Raises ScenarioError, which lists every mistake, for options that do not fit; what the policy's own code raises is
    wrapped in one that names its line.
    """
    source = str(Path(name).absolute())
    try:
        with time_limit(limit_s, green_thread):
            kind, source = policy_class(name)
            policy = kind(**_options(kind, name, given))
    except ScenarioError:
        raise
    except BaseException as error:  # SystemExit, KeyboardInterrupt and TooLong too
        raise ScenarioError(f"policy {name}, while it was loaded: {report(error, source)}") from None
    if kind.needs_app not in (None, app):
        raise ScenarioError(f"policy {name}: it builds on the rules of {kind.needs_app}, found the application {app}")
    return PolicyHost(policy, name, source, plan)


def _options(kind: type[Policy], name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    values, mistakes = read_options(kind, name, given)
    if mistakes:
        paths = (f"controller.policy.{each.name}" if each.name else "controller.policy" for each in mistakes)
        raise ScenarioError("\n".join(f"{path}: {each.text}" for path, each in zip(paths, mistakes, strict=True)))
    return values


# --- a policy that hangs ---------------------------------------------------------------------------------------------


class HangWatch:
    """Tells `on_hang` where the policy is when its wall time is over.

    It works from an alarm signal: a policy that computes for ever lets no other green thread run. `green_thread`
    returns the running one.
    """

    def __init__(
        self,
        host: PolicyHost,
        on_hang: Callable[[str], None],
        green_thread: Callable[[], Any],
        limit_s: float = WALL_LIMIT_S,
    ) -> None:
        self._host = host
        self._on_hang = on_hang
        self._green_thread = green_thread
        self._limit_s = limit_s
        self._question: AskPolicy | None = None
        self._thread: Any = None
        signal.signal(signal.SIGALRM, self._alarm)

    def answer(self, question: AskPolicy) -> Decision:
        """Have the host answer, within the limit. Raises PolicyError."""
        self._question, self._thread = question, self._green_thread()
        signal.setitimer(signal.ITIMER_REAL, self._limit_s)
        try:
            return self._host.answer(question)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _alarm(self, _number: int, frame: FrameType | None) -> None:
        assert self._question is not None
        running = self._thread.gr_frame or frame  # a green thread that is not running has a frame of its own
        place = place_of(self._host.source, _line_in(running, self._host.source))
        what = f"policy {self._host.shown}, {self._question.hook} at {format_time(self._question.time_ps)}"
        text = f"{what}: {place}: it gave no answer within {self._limit_s:g} s"
        print(text, file=sys.stderr, flush=True)
        self._on_hang(text)


def _line_in(frame: FrameType | None, source: str) -> int | None:
    """Return the line at which the innermost frame of `source` stands."""
    while frame is not None and frame.f_code.co_filename != source:
        frame = frame.f_back
    return frame.f_lineno if frame else None
