"""What a frame occupies on a wire (IEEE 802.3: 8 bytes preamble, 4 FCS, 12 gap, 64 bytes at least with the FCS)."""

import pytest

from testbed.engine.frame import Frame, wire_bytes


@pytest.mark.parametrize(
    ("frame_bytes", "expected"), [(14, 84), (59, 84), (60, 84), (61, 85), (1514, 1538), (4096 + 58 + 4, 4158 + 24)]
)
def test_wire_bytes(frame_bytes: int, expected: int) -> None:
    assert wire_bytes(frame_bytes) == expected == max(frame_bytes + 4, 64) + 8 + 12
    assert Frame(bytes(frame_bytes)).size_bytes == expected
