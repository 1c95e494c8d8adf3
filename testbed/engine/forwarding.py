"""Where a frame goes is not the engine's decision: the seam between a modelled switch and what forwards for it.

A frame that has finished arriving is *submitted*; its answer, the port it leaves by, is *asked for* one switch latency
of model time later. In between nothing can depend on the answer, so a forwarder may take its (wall) time and hold many
frames at once: that lookahead is what makes real switches in a model-time loop fast. And since answers are only ever
asked for by an event that was scheduled at submission, the order in which they come cannot change a result.
"""

from typing import Final, Protocol

from testbed.engine.frame import Frame

PENDING: Final = -1
"""`Frame.answer` of a frame whose way is not known yet."""

DROPPED: Final = 0
"""`Frame.answer` of a frame that goes nowhere. Others are OpenFlow port numbers, 1 and up."""

PUNTED: Final = -2
"""`Frame.answer` of a frame that the switch has sent up to the controller, instead of anywhere else."""


class Forwarder(Protocol):
    """Decides for one switch where frames go."""

    def submit(self, in_port: int, frame: Frame) -> None:
        """Take `frame`, which has arrived at `in_port`; sets its `answer` now or later."""

    def answer(self, frame: Frame) -> int:
        """Return the port number that `frame` leaves by, or DROPPED; waits for it if need be.

        The frame's bytes are then those that leave, rewritten as the switch's rules say.
        """
