"""Go-back-N: the responder keeps only what is in order, so after a loss everything from the lost packet on goes again.

On a NAK the requester goes back to the packet that the responder misses, and on a timeout to the oldest one that is not
acknowledged. One lost packet thus costs what was in flight behind it.

References: IBTA volume 1, 9.9.2 (requester error recovery).
Known limits: packets already queued in the fabric still arrive and are dropped there as out of sequence.
"""

from traffic.nic.hooks import Hooks
from traffic.nic.recovery import loss_recoveries
from traffic.nic.requester import Requester


@loss_recoveries.register("go-back-n")
class GoBackN(Hooks):
    """Send again from the first packet that the responder does not have."""

    __slots__ = ()

    def on_nak(self, requester: Requester, sequence: int, now: int) -> None:  # noqa: ARG002 - the hook's signature
        requester.go_back_to(sequence)

    def on_timeout(self, requester: Requester, now: int) -> None:  # noqa: ARG002 - the hook's signature
        requester.go_back_to(requester.unacknowledged)
