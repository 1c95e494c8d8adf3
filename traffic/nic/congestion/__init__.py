"""Congestion control: what a sender does about marks, and what its receiver tells it of them. One file each.

A kind registers a class under the name that ``transport.congestion.kind`` gives it. One object of it serves one QP's
requester and hears what happens to it (`traffic.nic.hooks`). It holds the QP back in one of two ways:

    a rate      `requester.not_before_ps`, set in `on_bytes_sent`: when the next packet may go (`traffic.nic.pacer`)
    a window    `requester.window`: how many packets may be on their way

A new kind is one file here and one section in `testbed.scenario.congestion` with its options.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from testbed.errors import ScenarioError
from testbed.scenario.congestion import CongestionOptions, contradictions
from traffic.nic.hooks import Hooks
from traffic.plugins import Registry

if TYPE_CHECKING:
    from traffic.nic.requester import Requester


class Feedback(NamedTuple):
    """How a receiver tells its sender of marks: by CNPs, at most one in `cnp_interval_ps` for a QP (None: no CNPs), and
    by echoing them in its acknowledgements (`traffic.nic.notification`)."""

    cnp_interval_ps: int | None = None
    echo: bool = False


NO_FEEDBACK = Feedback()


class CongestionSample(NamedTuple):
    """What a QP's congestion control had come to at one time: `values` are its `log_data`."""

    time_ps: int
    nic: str
    queue_pair: int
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class CongestionStatistics:
    """One QP's congestion control so far: `values` are its `log_data` now, `minimum` the least of its first value (a
    rate in bit/s or a window in bytes), `cnps` the CNPs that it has acted on."""

    nic: str
    queue_pair: int
    kind: str
    values: Mapping[str, float]
    minimum: float
    cnps: int


class CongestionControl(Hooks):
    """The base of every kind. `kind` is its registered name; `cnps` counts the CNPs that it has acted on."""

    __slots__ = ("_samples", "_where", "cnps")

    kind = ""

    def __init__(self) -> None:
        self.cnps = 0
        self._samples: list[CongestionSample] | None = None
        self._where = ("", 0)

    @classmethod
    def make(cls, options: Any, line_rate_bps: int) -> CongestionControl | None:
        """Return one for a QP on a link of `line_rate_bps`; None when senders of this kind do nothing at all."""
        raise NotImplementedError

    @classmethod
    def feedback(cls, options: Any) -> Feedback:
        """Return what receivers do with marks."""
        raise NotImplementedError

    def on_start(self, requester: Requester) -> None:
        """Nothing has been sent yet: set the first window here."""

    def log_data(self) -> Mapping[str, float]:
        """Return what a plot of this kind should show, by name; the first is what limits the QP."""
        raise NotImplementedError

    def statistics(self, now: int) -> CongestionStatistics:
        """Return a frozen account of the QP at `now`, the model time."""
        self.catch_up(now)
        return CongestionStatistics(*self._where, self.kind, self.log_data(), self.minimum, self.cnps)

    def catch_up(self, now: int) -> None:
        """Do what timers would have done up to `now`. When it is called makes no difference to what comes out."""

    @property
    def minimum(self) -> float:
        """The least that the QP was ever limited to."""
        raise NotImplementedError

    def record(self, nic: str, queue_pair: int, samples: list[CongestionSample] | None) -> None:
        """Say whose this is, and put a sample of every change into `samples` (None: of none)."""
        self._where = (nic, queue_pair)
        self._samples = samples

    def _sample(self, time_ps: int) -> None:
        """Note a change. Callers look first whether `_samples` is None, so that nobody pays who did not ask."""
        assert self._samples is not None
        self._samples.append(CongestionSample(time_ps, *self._where, self.log_data()))


congestion_controls: Registry[type[CongestionControl]] = Registry("congestion control", "traffic.nic.congestion")


def feedback_of(options: CongestionOptions | None) -> Feedback:
    """Return what receivers do with marks under ``transport.congestion`` (None: absent).

    Raises ScenarioError when its values contradict each other.
    """
    if options is None:
        return NO_FEEDBACK
    for path, text in contradictions(options):
        raise ScenarioError(f"{'.'.join(('transport', 'congestion', *path))}: {text}")
    return congestion_controls[options.kind].feedback(options)
