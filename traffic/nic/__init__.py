"""The RDMA NIC: queue pairs as a state table, go-back-N, a round-robin scheduler, mlx5's counters."""

from traffic.nic.connection import connect, udp_source_port
from traffic.nic.nic import Nic

__all__ = ["Nic", "connect", "udp_source_port"]
