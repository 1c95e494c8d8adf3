"""Updates byte for byte."""

from hypothesis import given
from hypothesis import strategies as st

from testbed.engine.credit.frames import read_update, update_frame
from testbed.engine.frame import Frame
from testbed.engine.pause.frames import pfc_frame
from tests.engine.kit import STEADY

MAC = "02:00:00:00:01:07"


def test_the_bytes_of_an_update() -> None:
    data = update_frame(MAC, {3: (0x123, 0xFFF), 0: (1, 2)})
    assert data == bytes.fromhex(
        "0180c2000001 020000000107 88b5"  # to the neighbour, from, local experiment
        "0001 0009"  # an update, lanes 0 and 3
        "0001 0002 0000 0000 0000 0000 0123 0fff"  # FCTBS and FCCL of lanes 0 to 3
        "0000 0000 0000 0000 0000 0000 0000 0000"  # and of lanes 4 to 7
        "0000 0000 0000 0000 0000"  # up to 60 bytes
    )
    assert len(data) == 60
    assert Frame(data).size_bytes == 84


def test_other_frames_are_none() -> None:
    assert read_update(pfc_frame(MAC, {3: 5})) is None
    data = bytearray(update_frame(MAC, {3: (1, 2)}))
    data[15] = 2  # another kind
    assert read_update(bytes(data)) is None


COUNT = st.integers(0, 4095)


@STEADY
@given(st.dictionaries(st.integers(0, 7), st.tuples(COUNT, COUNT)))
def test_what_is_written_is_read(counts: dict[int, tuple[int, int]]) -> None:
    assert read_update(update_frame(MAC, counts)) == counts
