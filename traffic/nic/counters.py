"""A NIC's counters, under the names that mlx5's hw_counters and ethtool give them, and a few of the model's own.

References: Linux drivers/infiniband/hw/mlx5/counters.c,
Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType


@dataclass(slots=True)
class NicCounters:
    """Counts since the start. Bytes are those of frames without FCS.

    Of the responder:
        out_of_sequence: requests that arrived beyond the expected PSN.
        duplicate_request: requests that arrived again.
        out_of_buffer: requests that found no posted receive.
        np_ecn_marked_roce_packets: packets that arrived with CE, acknowledgements included. np_cnp_sent: congestion
            notifications handed to the port.
        resp_*: requests that could not be carried out; receives completed with an error, flushed ones apart.
    Of the requester:
        packet_seq_err: NAKs for a PSN sequence error that the retry limit allowed.
        local_ack_timeout_err, rnr_nak_retry_err: the same of timeouts and of RNR NAKs.
        rp_cnp_handled, rp_cnp_ignored: congestion notifications that a congestion control heard of, or nobody.
        req_*: requests that the peer refused; sends completed with an error, flushed ones apart.
    Of the port:
        rx_icrc_encapsulated: RoCE packets dropped for a wrong ICRC.
        tx_..., rx_vport_rdma_unicast_...: all RoCE packets sent, and received with a right ICRC.
    Of the model:
        sent_data_packets: request packets, retransmissions included; retransmitted_packets: those sent before.
        received_data_packets: request packets for a QP that takes them.
        rx_malformed, rx_wrong_address, rx_unknown_qp, rx_qp_not_ready: RoCE packets dropped, by reason.
        rx_other_frames: frames that are not RoCE. peak_control_frames: the most ACKs, NAKs and CNPs that ever waited to
        go.
    """

    out_of_sequence: int = 0
    duplicate_request: int = 0
    out_of_buffer: int = 0
    np_ecn_marked_roce_packets: int = 0
    np_cnp_sent: int = 0
    resp_cqe_error: int = 0
    resp_cqe_flush_error: int = 0
    resp_local_length_error: int = 0
    resp_remote_access_errors: int = 0
    packet_seq_err: int = 0
    local_ack_timeout_err: int = 0
    rnr_nak_retry_err: int = 0
    rp_cnp_handled: int = 0
    rp_cnp_ignored: int = 0
    req_cqe_error: int = 0
    req_cqe_flush_error: int = 0
    req_remote_access_errors: int = 0
    req_remote_invalid_request: int = 0
    rx_icrc_encapsulated: int = 0
    tx_vport_rdma_unicast_packets: int = 0
    tx_vport_rdma_unicast_bytes: int = 0
    rx_vport_rdma_unicast_packets: int = 0
    rx_vport_rdma_unicast_bytes: int = 0
    sent_data_packets: int = 0
    retransmitted_packets: int = 0
    received_data_packets: int = 0
    rx_malformed: int = 0
    rx_wrong_address: int = 0
    rx_unknown_qp: int = 0
    rx_qp_not_ready: int = 0
    rx_other_frames: int = 0
    peak_control_frames: int = 0


def snapshot(counters: NicCounters) -> Mapping[str, int]:
    """Return a frozen copy of `counters`, by name."""
    return MappingProxyType(asdict(counters))
