"""Connecting two hosts' queue pairs, out of band, as NCCL does it over TCP: numbers and addresses are exchanged, then
both ends go INIT, RTR, RTS.

Every connection has a UDP source port of its own, the only field by which ECMP can tell it from the others between
the same hosts. Both directions carry it, as mlx5 has it.

References: the range of ports is that of Linux include/rdma/ib_verbs.h (IB_ROCE_UDP_ENCAP_VALID_PORT_MIN, _MAX).
"""

from hashlib import blake2b

from testbed.scenario.model import TransportOptions
from traffic.nic.nic import Nic
from traffic.nic.queue_pair import Peer, QueuePair
from traffic.nic.states import QpEvent

FIRST_SOURCE_PORT = 0xC000
SOURCE_PORTS = 1 << 14


def udp_source_port(seed: int, source: str, destination: str, index: int) -> int:
    """Return the UDP source port, from 49152, of connection `index` from NIC `source` to NIC `destination`.

    A hash of the seed and the names gives a first port and an odd stride, so that up to 2^14 connections of one pair
    have ports of their own, far apart from each other.
    """
    digest = blake2b(f"{seed} {source} {destination}".encode(), digest_size=8).digest()
    first = int.from_bytes(digest[:4], "big")
    stride = int.from_bytes(digest[4:], "big") | 1
    return FIRST_SOURCE_PORT + (first + index * stride) % SOURCE_PORTS


def connect(nic_a: Nic, nic_b: Nic, settings: TransportOptions, source_port: int) -> tuple[QueuePair, QueuePair]:
    """Return a new QP on each NIC, connected to each other and ready to send. Both start at
    ``settings.initial_psn``.
    """
    qp_a, qp_b = nic_a.create_queue_pair(settings), nic_b.create_queue_pair(settings)
    for qp, other in ((qp_a, qp_b), (qp_b, qp_a)):
        qp.handle(QpEvent.TO_INIT)
        qp.ready_to_receive(Peer(other.number, other.nic.ip, source_port, other.nic.mac))
    for qp in (qp_a, qp_b):
        qp.handle(QpEvent.TO_RTS)
    return qp_a, qp_b
