"""What a policy does to the model: marking thresholds, lossless classes, pause thresholds, meters.

Every action names a port and goes to its switch. One that the fabric cannot carry out (marks without traffic classes,
a lossless priority that has no headroom) raises `ImpossibleAction` with the engine's own words.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from controllers.policy.actions import EngineAction, SetEcn, SetLossless, SetMeter, SetPfc
from testbed.control.meters import Meter, MeteredForwarder, TokenBucket
from testbed.engine.fabric import ModelFabric


class ImpossibleAction(Exception):  # noqa: N818 - becomes a TestbedError that names the policy
    """The fabric has not what the action is about."""


@dataclass(frozen=True, slots=True)
class Ramp:
    """A queue's marking thresholds, in bytes, and the probability at the upper one."""

    kmin: int
    kmax: int
    pmax: float


class EngineActions:
    """Carries out actions on `fabric`; `meters` are the forwarders that can hold meters, by switch.

    Attributes:
        ramps: the thresholds of each queue that marks by its bytes now, by port and priority.
        alphas: the factors of the lossless priorities' ingress thresholds now, likewise.
    """

    def __init__(self, fabric: ModelFabric, meters: Mapping[str, MeteredForwarder]) -> None:
        self._fabric = fabric
        self._meters = meters
        self._port_of = {port.name: port for switch in fabric.plan.switches for port in switch.ports}
        marking = fabric.qos.ecn if fabric.qos is not None else {}
        self.ramps = {
            (name, priority): Ramp(ecn.kmin, ecn.kmax, ecn.pmax)
            for name in self._port_of
            for priority, ecn in marking.items()
            if ecn.by == "bytes"
        }
        self.alphas: dict[tuple[str, int], float] = {}
        if fabric.qos is not None and fabric.qos.pfc is not None:
            alpha = fabric.qos.ingress_alpha
            self.alphas = {(name, priority): alpha for name in self._port_of for priority in fabric.qos.lossless}

    def apply(self, action: EngineAction) -> None:
        """Carry out `action` now. Raises ImpossibleAction."""
        try:
            self._apply(action)
        except (LookupError, ValueError) as error:
            raise ImpossibleAction(f"{error}; the action was {action}") from None

    def _apply(self, action: EngineAction) -> None:
        switch = self._fabric.switches[self._port_of[action.port].node]
        match action:
            case SetEcn(port, priority, kmin, kmax, pmax):
                switch.set_ecn(port, priority, kmin, kmax, pmax)
                self.ramps[port, priority] = Ramp(kmin, kmax, pmax)
            case SetLossless(port, priority, lossless):
                switch.set_lossless(port, priority, lossless)
            case SetPfc(port, priority, alpha):
                switch.set_pfc_threshold(port, priority, alpha)
                self.alphas[port, priority] = alpha
            case SetMeter():
                self._set_meter(switch.name, action)

    def _set_meter(self, switch: str, action: SetMeter) -> None:
        number, meters = self._port_of[action.port].number, self._meters[switch].meters
        if action.rate_bps is None:
            meters.pop(number, None)
            return
        bucket = TokenBucket(action.rate_bps, action.burst_bytes, self._fabric.loop.now)
        meters[number] = Meter(bucket, action.dscp, action.remark)
