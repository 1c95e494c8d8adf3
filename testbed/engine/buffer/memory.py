"""The packet memory of a switch with traffic classes: its shared part, and the counts of what is in use.

The dynamic threshold of Choudhury and Hahne: a queue may take T = alpha * (B - used) of the shared memory, B in all.
The fuller the memory, the less each may have, and some of it always stays free for a newcomer. `Alpha` keeps the
factor as a fraction, so that thresholds are whole numbers on every machine.

References: A. Choudhury, E. Hahne, Dynamic queue length thresholds for shared-memory packet switches (1998).
Known limits: bytes are counted, not cells; a frame that is leaving has been freed already.
"""

from fractions import Fraction


class Alpha:
    """The factor of a dynamic threshold, as numerator and denominator."""

    __slots__ = ("denominator", "numerator")

    def __init__(self, value: float) -> None:
        """`value` is above 0; it is taken as it is written (0.1 is one tenth)."""
        exact = Fraction(str(value))
        self.numerator = exact.numerator
        self.denominator = exact.denominator

    def threshold(self, free_bytes: int) -> int:
        """Return alpha * free, rounded down."""
        return self.numerator * free_bytes // self.denominator


class SharedMemory:
    """What the ingress groups of a switch hold together.

    Attributes:
        size_bytes: all memory, reserved minimums and headroom included. shared_bytes: B, the shared part.
        used_bytes: in use now, of all kinds; peak_bytes: the most there ever was. shared_used_bytes: of the shared
        part.
    """

    __slots__ = ("peak_bytes", "shared_bytes", "shared_used_bytes", "size_bytes", "used_bytes")

    def __init__(self, size_bytes: int, shared_bytes: int) -> None:
        self.size_bytes = size_bytes
        self.shared_bytes = shared_bytes
        self.used_bytes = self.peak_bytes = self.shared_used_bytes = 0

    @property
    def shared_free_bytes(self) -> int:
        """B - used."""
        return self.shared_bytes - self.shared_used_bytes
