"""From a frame's DSCP to its priority: traffic class (egress queue), priority group (ingress) and PFC priority at once.

The default map is what RoCE fabrics use: DSCP 24 to 31 (26 is RoCE's usual one) have priority 3, 48 (CNPs) and 56
(network control) priority 6, all others priority 0. ``fabric.qos.dscp`` changes it DSCP by DSCP.

    IP byte (traffic class) = DSCP * 4 + ECN

Known limits: the VLAN tag's priority bits are not looked at; what is not IP has priority 0.
"""

from collections.abc import Mapping

_DEFAULTS = {**dict.fromkeys(range(24, 32), 3), 48: 6, 56: 6}
_OF_ALL_OTHERS = 0


def priority_by_traffic_class(dscp: Mapping[int, int]) -> bytes:
    """Return the priority for each value of the IP header's traffic class byte: 256 of them, ECN bits ignored.

    `dscp` is the scenario's map, which goes before the defaults.
    """
    of_dscp = {**_DEFAULTS, **dscp}
    return bytes(of_dscp.get(traffic_class >> 2, _OF_ALL_OTHERS) for traffic_class in range(256))


def traffic_class(data: bytes) -> int | None:
    """Return the IP header's traffic class byte of a frame, None for one that is not IP."""
    if data[12:14] == b"\x08\x00":
        return data[15]
    if data[12:14] == b"\x86\xdd":
        return (data[14] & 0x0F) << 4 | data[15] >> 4
    return None
