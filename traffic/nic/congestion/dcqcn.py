"""DCQCN, the congestion control of RoCEv2 NICs: the reaction point, a rate limiter for each QP.

Three quantities: the current rate Rc, the target rate Rt that it makes for, and alpha, an estimate of how much is
marked.

    a CNP               Rt = Rc;  Rc = Rc (1 - alpha / 2);  alpha = (1 - g) alpha + g;  T = BC = 0, both timers restart
    no CNP for a while  alpha = (1 - g) alpha                                 once in `alpha_timer`
    increase event      every `increase_timer` (then T = T + 1), every `byte_counter` sent (BC = BC + 1):
        fast recovery       max(T, BC) < F:  Rc = (Rt + Rc) / 2
        hyper increase      min(T, BC) > F:  Rt = Rt + i R_HAI;  Rc = (Rt + Rc) / 2     i = min(T, BC) - F
        additive increase   otherwise:       Rt = Rt + R_AI;     Rc = (Rt + Rc) / 2

T and BC count the increase events before this one, so F events of the timer alone are F rounds of fast recovery. A QP
starts at line rate, and has no limiter until its first CNP and again from when it is back at line rate.

All arithmetic is of integers, so results are equal on every machine: rates in bit/s, alpha in units of 2^-32. A cut and
alpha round down, (Rt + Rc) / 2 rounds up (so that Rc does reach Rt).

Timers cost no events. What they would have done is done, in the order of its times, when a packet or a CNP next needs
the rate (`catch_up`); alpha reaches 0 after some thousand periods, and nothing is then left to do.

References: Zhu et al., Congestion Control for Large-Scale RDMA Deployments (SIGCOMM 2015), figures 6 and 7; IEEE
802.1Qau, whose RPG parameters the firmware's names are. Values: `dcqcn_parameters`.
Known limits: a gap between two packets follows the rate at its beginning (hardware too has a packet's worth of lag);
timeouts and NAKs change no rate (the firmware's slow restart is not modelled); with alpha_update ``period``, the period
begins with a QP's first CNP, and anew with a CNP that finds alpha at 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from testbed.scenario.congestion import DcqcnOptions
from traffic.nic.congestion import CongestionControl, Feedback, congestion_controls
from traffic.nic.congestion.dcqcn_parameters import ALPHA_ONE, DcqcnParameters, parameters
from traffic.nic.pacer import Pacer

if TYPE_CHECKING:
    from traffic.nic.requester import Requester

_NEVER = 1 << 62
"""A time in ps that no run reaches."""


@congestion_controls.register("dcqcn")
class Dcqcn(CongestionControl):
    """The reaction point of one QP. `rate_bps`, `target_bps`, `alpha` (of 2^32) and the stages are its state."""

    __slots__ = (
        "_alpha_due_ps", "_bytes", "_cnp_in_period", "_cut_allowed_ps", "_cut_due_ps", "_increase_due_ps",
        "_line_rate_bps", "_minimum_bps", "_pacer", "_parameters", "alpha", "byte_stage", "limited", "rate_bps",
        "target_bps", "time_stage",
    )  # fmt: skip

    kind = "dcqcn"

    def __init__(self, parameters: DcqcnParameters, line_rate_bps: int) -> None:
        super().__init__()
        self._parameters = parameters
        self._line_rate_bps = self.rate_bps = self.target_bps = self._minimum_bps = line_rate_bps
        self._pacer = Pacer(line_rate_bps)
        self.alpha = parameters.initial_alpha
        self.limited = False
        self.time_stage = self.byte_stage = self._bytes = 0
        self._cnp_in_period = False
        self._cut_allowed_ps = 0
        self._alpha_due_ps = self._increase_due_ps = self._cut_due_ps = _NEVER

    @classmethod
    def make(cls, options: DcqcnOptions, line_rate_bps: int) -> Dcqcn:
        return cls(parameters(options, line_rate_bps), line_rate_bps)

    @classmethod
    def feedback(cls, options: DcqcnOptions) -> Feedback:
        return Feedback(cnp_interval_ps=parameters(options, line_rate_bps=1).cnp_interval_ps)

    # --- what happens -------------------------------------------------------------------------------------------------

    def on_bytes_sent(self, requester: Requester, size_bytes: int, now: int) -> None:
        if not self.limited:
            return
        if self._increase_due_ps <= now or self._cut_due_ps <= now or self._samples is not None:
            self.catch_up(now)
        self._count_bytes(size_bytes, now)
        if self.limited:
            requester.not_before_ps = self._pacer.next_start_ps(size_bytes, now)

    def on_cnp(self, requester: Requester, now: int) -> None:  # noqa: ARG002 - the hook's signature
        self.catch_up(now)
        self.cnps += 1
        if now >= self._cut_allowed_ps:
            self._cut(now)
        elif self._cut_due_ps == _NEVER:
            self._cut_due_ps = self._cut_allowed_ps
        parameters = self._parameters
        if parameters.alpha_by_period:
            self._cnp_in_period = True
            if self._alpha_due_ps == _NEVER:
                self._alpha_due_ps = now + parameters.alpha_timer_ps
        else:
            self.alpha = self._decayed() + parameters.g
            self._alpha_due_ps = now + parameters.alpha_timer_ps

    def catch_up(self, now: int) -> None:
        """Let the timers that have run out by `now` do their work, in the order of their times."""
        while True:
            alpha, increase, cut = self._alpha_due_ps, self._increase_due_ps, self._cut_due_ps
            due = min(alpha, increase, cut)
            if due > now:
                return
            if due == alpha:
                self._on_alpha_timer(due)
            elif due == increase:
                self._on_increase_timer(due)
            else:
                self._cut(due)

    # --- alpha --------------------------------------------------------------------------------------------------------

    def _decayed(self) -> int:
        """Return (1 - g) alpha."""
        return self.alpha * (ALPHA_ONE - self._parameters.g) // ALPHA_ONE

    def _on_alpha_timer(self, at: int) -> None:
        self.alpha = self._decayed()
        if self._cnp_in_period:
            self.alpha += self._parameters.g
            self._cnp_in_period = False
        self._alpha_due_ps = at + self._parameters.alpha_timer_ps if self.alpha else _NEVER

    # --- the rate -----------------------------------------------------------------------------------------------------

    def _cut(self, at: int) -> None:
        """Decrease: the target is where the rate was, the rate falls by a share that grows with alpha."""
        parameters = self._parameters
        if self._clamps_target():
            self.target_bps = self.rate_bps
        shift = parameters.cut_shift
        share = self.alpha >> shift if shift >= 0 else self.alpha << -shift
        share = min(share, parameters.max_cut)
        kept = self.rate_bps * (ALPHA_ONE - share) // ALPHA_ONE
        self.time_stage = self.byte_stage = self._bytes = 0
        self._increase_due_ps = at + parameters.increase_timer_ps
        self._cut_due_ps = _NEVER
        self._cut_allowed_ps = at + parameters.cut_interval_ps
        self._set_rate(max(kept, parameters.min_rate_bps), at)

    def _clamps_target(self) -> bool:
        rule = self._parameters.clamp_target
        if rule == "always" or not self.limited:
            return True
        return (self.time_stage if rule == "after-increase" else self.byte_stage) > 0

    def _on_increase_timer(self, at: int) -> None:
        self._increase_due_ps = at + self._parameters.increase_timer_ps
        self._increase(at)
        self.time_stage += 1

    def _count_bytes(self, size_bytes: int, now: int) -> None:
        whole = self._parameters.byte_counter
        if not whole:
            return
        self._bytes += size_bytes
        while self._bytes >= whole and self.limited:
            self._bytes -= whole
            self._increase(now)
            self.byte_stage += 1

    def _increase(self, at: int) -> None:
        """One increase event of the timer or of the byte counter."""
        parameters = self._parameters
        most = least = self.time_stage
        if parameters.byte_counter:
            most, least = max(most, self.byte_stage), min(least, self.byte_stage)
        if most < parameters.fast_recovery:
            pass  # fast recovery: half of the way back to the target
        elif least > parameters.fast_recovery:
            rounds = least - parameters.fast_recovery if parameters.hyper_growth else 1
            self.target_bps += rounds * parameters.hyper_bps
        else:
            self.target_bps += parameters.additive_bps
        self.target_bps = min(self.target_bps, self._line_rate_bps)
        self._set_rate((self.target_bps + self.rate_bps + 1) // 2, at)

    def _set_rate(self, rate_bps: int, at: int) -> None:
        if rate_bps == self.rate_bps and self.limited:
            return
        self.rate_bps = rate_bps
        self.limited = rate_bps < self._line_rate_bps
        if self.limited:
            self._pacer.set_rate(rate_bps)
            self._minimum_bps = min(self._minimum_bps, rate_bps)
        else:  # at line rate the link itself is the limit; only alpha goes on
            self._increase_due_ps = _NEVER
        if self._samples is not None:
            self._sample(at)

    # --- what came of it ----------------------------------------------------------------------------------------------

    def log_data(self) -> Mapping[str, float]:
        return {"rate_bps": self.rate_bps, "target_bps": self.target_bps, "alpha": self.alpha / ALPHA_ONE}

    @property
    def minimum(self) -> int:
        return self._minimum_bps
