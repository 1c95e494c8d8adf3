"""The syndrome of the ACK extended transport header (AETH): acknowledged, not ready, or refused and why.

Syndrome byte: a zero bit, two bits of kind (0 ACK, 1 receiver not ready (RNR NAK), 2 reserved, 3 NAK) and five bits of
value: the credit count of an ACK, the timer code of an RNR NAK, the error code of a NAK. The message sequence number
(MSN) beside it counts the messages that the responder has completed, modulo 2^24.

References: Linux drivers/infiniband/sw/rxe/rxe_hdr.h; the RNR timer codes are `enum ib_rnr_timeout` of
include/rdma/ib_verbs.h, whose names are the times in milliseconds.
"""

from testbed.units import MICROSECOND

_KIND_MASK = 0xE0
_VALUE_MASK = 0x1F


class Syndrome:
    """Values and kinds of the syndrome byte."""

    ACK = 0x1F
    """A plain ACK: its credit count, 0x1F, says that credits are not used."""
    RNR_NAK = 0x20
    """Receiver not ready; OR the timer code in (`rnr_nak`)."""
    NAK_PSN_SEQUENCE_ERROR = 0x60
    NAK_INVALID_REQUEST = 0x61
    NAK_REMOTE_ACCESS_ERROR = 0x62
    NAK_REMOTE_OPERATIONAL_ERROR = 0x63
    NAK_INVALID_RD_REQUEST = 0x64


NAK_NAMES: dict[int, str] = {
    Syndrome.NAK_PSN_SEQUENCE_ERROR: "PSN sequence error",
    Syndrome.NAK_INVALID_REQUEST: "invalid request",
    Syndrome.NAK_REMOTE_ACCESS_ERROR: "remote access error",
    Syndrome.NAK_REMOTE_OPERATIONAL_ERROR: "remote operational error",
    Syndrome.NAK_INVALID_RD_REQUEST: "invalid RD request",
}


def _rnr_timer_units() -> tuple[int, ...]:
    """Return the times by code in units of 10 us: 1, 2, 3, 4, then 6, 8, 12, 16, ...; code 0 is the longest."""
    units = [0, 1, 2, 3, 4]
    while len(units) < 33:
        units.append(units[-2] * 2)
    units[0] = units.pop()
    return tuple(units)


RNR_TIMER_PS: tuple[int, ...] = tuple(units * 10 * MICROSECOND for units in _rnr_timer_units())
"""Picoseconds to wait by RNR timer code: 1 is 0.01 ms, 31 is 491.52 ms and 0 is 655.36 ms."""


def is_ack(syndrome: int) -> bool:
    """Return whether `syndrome` acknowledges."""
    return syndrome & _KIND_MASK == 0x00


def is_rnr_nak(syndrome: int) -> bool:
    """Return whether `syndrome` says that the receiver was not ready."""
    return syndrome & _KIND_MASK == 0x20


def rnr_nak(timer_code: int) -> int:
    """Return the syndrome of an RNR NAK. Raises ValueError when the code does not fit five bits."""
    if not 0 <= timer_code <= _VALUE_MASK:
        raise ValueError(f"expected an RNR timer code from 0 to 31, found {timer_code}")
    return Syndrome.RNR_NAK | timer_code


def rnr_timer_ps(syndrome: int) -> int:
    """Return the picoseconds that an RNR NAK asks the requester to wait."""
    return RNR_TIMER_PS[syndrome & _VALUE_MASK]
