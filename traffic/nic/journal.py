"""What happens at NICs beside the ordinary flow of packets: one event each, for the table of events.

Each kind is also counted (`traffic.nic.counters`), so that events and counters must agree:

    nak              a NAK for a PSN sequence error was acted on        packet_seq_err
    timeout          no acknowledgement came for the local ACK timeout  local_ack_timeout_err
    rnr_nak          the receiver was not ready                         rnr_nak_retry_err
    retransmission   a queue pair goes back, and sends again            (retransmitted_packets follow)
    cnp_sent         a marked packet was answered with a CNP            np_cnp_sent
    cnp_handled      a congestion control heard of one                  rp_cnp_handled
"""

from typing import NamedTuple

NAK, TIMEOUT, RNR_NAK, RETRANSMISSION = "nak", "timeout", "rnr_nak", "retransmission"
CNP_SENT, CNP_HANDLED = "cnp_sent", "cnp_handled"


class NicEvent(NamedTuple):
    """At `time_ps`, `kind` happened to the queue pair `queue_pair` of `nic`. `peer_ip` is that of its other end; `psn`
    the packet that it is about; `packets` how many are sent again."""

    time_ps: int
    kind: str
    nic: str
    queue_pair: int
    peer_ip: str
    psn: int | None = None
    packets: int | None = None
