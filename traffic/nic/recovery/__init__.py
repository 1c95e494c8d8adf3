"""Loss recovery: one file each, self-registered. The NIC's default is go-back-N, as RoCEv2 NICs have it."""

from traffic.nic.hooks import Hooks
from traffic.plugins import Registry

loss_recoveries: Registry[type[Hooks]] = Registry("loss recovery", "traffic.nic.recovery")
