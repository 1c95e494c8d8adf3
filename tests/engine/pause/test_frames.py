"""The bytes of PFC and PAUSE frames."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.engine.frame import Frame
from testbed.engine.pause.frames import is_control, pause_frame, pfc_frame, read_pause, read_pfc
from tests.engine.kit import STEADY

MAC = "02:00:00:00:01:07"


def test_xoff_byte_for_byte() -> None:
    """Destination, source, EtherType, opcode, vector, eight times, padding up to 60 bytes; the FCS makes it 64."""
    assert pfc_frame(MAC, {3: 0xFFFF}).hex() == (
        "0180c2000001020000000107880801010008000000000000ffff0000000000000000" + 26 * "00"
    )
    assert len(pfc_frame(MAC, {3: 0xFFFF})) + 4 == 64


def test_xon_names_its_priority_with_time_zero() -> None:
    assert pfc_frame(MAC, {3: 0}).hex()[28:] == "01010008" + 16 * "00" + 26 * "00"


def test_several_priorities_in_one_frame() -> None:
    assert pfc_frame(MAC, {7: 0x00F0, 0: 1, 3: 0}).hex()[28:72] == "010100890001" + 6 * "0000" + "00f0" + 4 * "0"


def test_pause_byte_for_byte() -> None:
    assert pause_frame(MAC, 0x1234).hex() == "0180c2000001020000000107880800011234" + 42 * "00"


def test_the_frame_occupies_84_bytes_of_wire() -> None:
    assert Frame(pfc_frame(MAC, {3: 1})).size_bytes == Frame(pause_frame(MAC, 1)).size_bytes == 84


@STEADY
@given(st.dictionaries(st.integers(0, 7), st.integers(0, 0xFFFF)))
def test_what_is_written_is_read(quanta: dict[int, int]) -> None:
    assert read_pfc(pfc_frame(MAC, quanta)) == quanta
    assert read_pause(pfc_frame(MAC, quanta)) is None


@pytest.mark.parametrize("quanta", [0, 1, 0xFFFF])
def test_pause_is_read(quanta: int) -> None:
    assert read_pause(pause_frame(MAC, quanta)) == quanta
    assert read_pfc(pause_frame(MAC, quanta)) is None


def test_other_frames_are_no_control_frames() -> None:
    data = bytes(12) + b"\x08\x00\x01\x01" + bytes(44)
    assert not is_control(data)
    assert read_pfc(data) is None
    assert read_pause(data) is None
