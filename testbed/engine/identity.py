"""What tells one frame from another wherever it is, though switches rewrite its headers."""

_ROCE_PORT = (4791).to_bytes(2, "big")


def identity(data: bytes) -> bytes:
    """Return what tells `data` from other frames and no switch changes.

    For RoCE over IPv4 or IPv6: UDP ports and length, BTH (QP, PSN), and the invariant CRC, which covers payload and
    addresses and leaves out what switches rewrite (TOS, TTL, checksums). For others: all behind the first 34 bytes.
    """
    if data[36:38] == _ROCE_PORT:
        return data[34:40] + data[42:54] + data[-4:]
    if data[56:58] == _ROCE_PORT:
        return data[54:60] + data[62:74] + data[-4:]
    return data[34:]
