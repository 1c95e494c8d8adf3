"""What a policy can do, as plain frozen values. A wrong value is refused where it is made: in the policy's own line.

Ports are called by their names in the plan (``leaf0-eth1``), switches by theirs (``leaf0``). Some actions change the
model of the switch's chip (thresholds, classes, meters); the others are OpenFlow and go to the real switch. All take
effect at the same model time.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

from controllers.openflow import Action as FlowAction
from controllers.openflow import DecrementTtl, FieldValue, FlowMod, Output, SelectGroup, SetField, ToGroup

PRIORITIES = 8
_LONGEST_PAUSE = 0xFFFF
_HIGHEST_FLOW_PRIORITY = 0xFFFF
_HIGHEST_NUMBER = 0xFFFFFFFF
"""Of a port or a group, in OpenFlow."""
_ETHERNET_HEADER_BYTES = 14


def _check_priority(priority: object) -> None:
    if not isinstance(priority, int) or not 0 <= priority < PRIORITIES:
        raise ValueError(f"expected a priority from 0 to {PRIORITIES - 1}, found {priority!r}")


def _check_size(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"expected {name} as a whole number of bytes, found {value!r}")


def _check_number(name: str, value: object, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise ValueError(f"expected {name} from 0 to {most}, found {value!r}")


def _check_flow_actions(actions: tuple[FlowAction, ...]) -> None:
    for action in actions:
        match action:
            case Output(port):
                _check_number("an OpenFlow port", port, _HIGHEST_NUMBER)
            case ToGroup(group_id):
                _check_number("a group", group_id, _HIGHEST_NUMBER)
            case SetField() | DecrementTtl():
                pass
            case _:
                raise ValueError(f"expected an action of a flow such as Output(1), found {action!r}")


# --- the switch's chip -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SetEcn:
    """Mark on the egress queue of `priority` at `port` with RED's ramp: from `kmin` to `kmax` bytes up to `pmax`."""

    port: str
    priority: int
    kmin: int
    kmax: int
    pmax: float

    def __post_init__(self) -> None:
        _check_priority(self.priority)
        _check_size("kmin", self.kmin)
        _check_size("kmax", self.kmax)
        if self.kmin > self.kmax:
            raise ValueError(f"expected kmin of at most kmax, found {self.kmin} and {self.kmax}")
        if not 0 <= self.pmax <= 1:
            raise ValueError(f"expected pmax from 0 to 1, found {self.pmax!r}")


@dataclass(frozen=True, slots=True)
class SetLossless:
    """Have flow control protect what arrives at `port` with `priority` (or no longer)."""

    port: str
    priority: int
    lossless: bool

    def __post_init__(self) -> None:
        _check_priority(self.priority)
        if not isinstance(self.lossless, bool):
            raise ValueError(f"expected lossless to be True or False, found {self.lossless!r}")


@dataclass(frozen=True, slots=True)
class SetPfc:
    """Let what has arrived at `port` with `priority` take `alpha` times the free memory before the sender is paused."""

    port: str
    priority: int
    alpha: float

    def __post_init__(self) -> None:
        _check_priority(self.priority)
        if isinstance(self.alpha, bool) or not isinstance(self.alpha, (int, float)) or not 0 < self.alpha <= 128:
            raise ValueError(f"expected alpha above 0 and at most 128, found {self.alpha!r}")


@dataclass(frozen=True, slots=True)
class SetMeter:
    """Meter what arrives at `port` with a `dscp` (None: all): a token bucket of `rate_bps` and `burst_bytes`.

    What exceeds it is dropped, or gets the DSCP `remark`. A rate of None takes the meter away.
    """

    port: str
    dscp: int | None
    rate_bps: int | None
    burst_bytes: int = 0
    remark: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("dscp", self.dscp), ("remark", self.remark)):
            if value is not None and (not isinstance(value, int) or not 0 <= value < 64):
                raise ValueError(f"expected {name} from 0 to 63, found {value!r}")
        if self.rate_bps is not None and (not isinstance(self.rate_bps, int) or self.rate_bps <= 0):
            raise ValueError(f"expected a rate above 0 in bit/s, found {self.rate_bps!r}")
        _check_size("burst_bytes", self.burst_bytes)


# --- OpenFlow --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AddFlow:
    """Add `flow` to a switch, or change the one with its priority and match."""

    switch: str
    flow: FlowMod

    def __post_init__(self) -> None:
        if not isinstance(self.flow, FlowMod):
            raise ValueError(f"expected a FlowMod(...), found {self.flow!r}")
        _check_number("a flow's priority", self.flow.priority, _HIGHEST_FLOW_PRIORITY)
        _check_flow_actions(self.flow.actions)


@dataclass(frozen=True, slots=True)
class DeleteFlow:
    """Remove the flow with exactly this priority and match; nothing happens where there is none."""

    switch: str
    priority: int
    match: tuple[tuple[str, FieldValue], ...]

    def __post_init__(self) -> None:
        _check_number("a flow's priority", self.priority, _HIGHEST_FLOW_PRIORITY)


@dataclass(frozen=True, slots=True)
class AddGroup:
    """Add `group` to a switch, or change the one with its number."""

    switch: str
    group: SelectGroup

    def __post_init__(self) -> None:
        if not isinstance(self.group, SelectGroup):
            raise ValueError(f"expected a SelectGroup(...), found {self.group!r}")
        _check_number("a group", self.group.group_id, _HIGHEST_NUMBER)
        for actions in self.group.buckets:
            _check_flow_actions(actions)


@dataclass(frozen=True, slots=True)
class DeleteGroup:
    """Remove a group; flows that lead to it go too."""

    switch: str
    group_id: int

    def __post_init__(self) -> None:
        _check_number("a group", self.group_id, _HIGHEST_NUMBER)


@dataclass(frozen=True, slots=True)
class PacketOut:
    """Send the Ethernet frame `data` (without FCS) out of `port`."""

    port: str
    data: bytes

    def __post_init__(self) -> None:
        if not isinstance(self.data, bytes) or len(self.data) < _ETHERNET_HEADER_BYTES:
            raise ValueError(
                f"expected an Ethernet frame as bytes, {_ETHERNET_HEADER_BYTES} or more, found {self.data!r}"
            )


@dataclass(frozen=True, slots=True)
class SendPause:
    """Send a PFC frame out of `port`: its neighbour shall hold `priority` for `quanta` of 512 bit times; 0 ends it."""

    port: str
    priority: int
    quanta: int

    def __post_init__(self) -> None:
        _check_priority(self.priority)
        if not isinstance(self.quanta, int) or not 0 <= self.quanta <= _LONGEST_PAUSE:
            raise ValueError(f"expected quanta from 0 to {_LONGEST_PAUSE}, found {self.quanta!r}")


EngineAction: TypeAlias = SetEcn | SetLossless | SetPfc | SetMeter
OpenFlowAction: TypeAlias = AddFlow | DeleteFlow | AddGroup | DeleteGroup | PacketOut | SendPause
Action: TypeAlias = EngineAction | OpenFlowAction

_ENGINE: dict[str, type[Any]] = {kind.__name__: kind for kind in (SetEcn, SetLossless, SetPfc, SetMeter)}
ENGINE_ACTIONS = tuple(_ENGINE.values())
OPENFLOW_ACTIONS = (AddFlow, DeleteFlow, AddGroup, DeleteGroup, PacketOut, SendPause)


def as_json(action: EngineAction) -> list[Any]:
    """Return the name and the fields of an action on the model; `from_json` is the inverse."""
    return [type(action).__name__, *(getattr(action, name) for name in type(action).__slots__)]


def from_json(value: list[Any]) -> EngineAction:
    """Rebuild an action from `as_json`'s value."""
    name, *fields = value
    action: EngineAction = _ENGINE[name](*fields)
    return action
