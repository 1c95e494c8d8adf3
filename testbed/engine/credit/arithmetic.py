"""Credits are counted in blocks of 64 bytes, by counters of 12 bits that wrap.

    a frame may be sent while   (FCCL - FCTBS - blocks) mod 4096 <= 2048

which is FCTBS + blocks <= FCCL as long as no more than 2048 blocks (128 KiB) are ever advertised: a sender that is
past its limit by less than half the range is told apart from one that is below it.

Known limits: field notes give blocks and the largest advertisement, and leave the width open; 12 bits are the least
with which 2048 blocks can be compared, and what InfiniBand's packets are said to have.
"""

from testbed.fabric.buffers import BLOCK_BYTES, MOST_BLOCKS

MODULUS = 1 << 12
_MASK = MODULUS - 1


def blocks_of(size_bytes: int) -> int:
    """Return the blocks that a frame of `size_bytes` (without FCS) takes: the last one may be begun only."""
    return -(-size_bytes // BLOCK_BYTES)


def wrapped(count: int) -> int:
    """Return a counter's value after `count` blocks in all (which may be less than nothing)."""
    return count & _MASK


def may_send(sent: int, limit: int, blocks: int) -> bool:
    """Return whether `blocks` more may be sent after `sent` (FCTBS) with the limit `limit` (FCCL)."""
    return (limit - sent - blocks) & _MASK <= MOST_BLOCKS
