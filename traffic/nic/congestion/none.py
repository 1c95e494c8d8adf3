"""No congestion control: a QP sends at line rate whatever happens; only loss recovery and pauses slow it down.

The receiver may still answer marks (`cnp_interval`), as a NIC does whose notification point is on while the peer's
reaction point is off; the sender then counts the CNPs as ignored.
"""

from testbed.scenario.congestion import NoCongestionControl
from traffic.nic.congestion import CongestionControl, Feedback, congestion_controls


@congestion_controls.register("none")
class NoControl(CongestionControl):
    """Never made: a requester without congestion control is what it stands for."""

    kind = "none"

    @classmethod
    def make(cls, options: NoCongestionControl, line_rate_bps: int) -> None:  # noqa: ARG003 - the plug-in's signature
        return None

    @classmethod
    def feedback(cls, options: NoCongestionControl) -> Feedback:
        return Feedback(cnp_interval_ps=options.cnp_interval)
