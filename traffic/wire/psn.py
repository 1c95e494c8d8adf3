"""Packet sequence numbers (PSN): arithmetic modulo 2^24.

A queue pair numbers its packets with 24 bits, so at 400 Gb/s and 4 KiB a packet the number wraps every 1.4 s. Two PSNs
are comparable as long as they lie less than half the circle apart, which the limit on outstanding packets ensures.
"""

PSN_MODULUS = 1 << 24
_MASK = PSN_MODULUS - 1
_HALF = PSN_MODULUS >> 1


def psn_add(psn: int, n: int) -> int:
    """Return the PSN that is `n` packets after `psn` (before it, for a negative `n`)."""
    return (psn + n) & _MASK


def psn_distance(newer: int, older: int) -> int:
    """Return how many packets `newer` is ahead of `older`, signed, in [-2^23, 2^23)."""
    return ((newer - older + _HALF) & _MASK) - _HALF
