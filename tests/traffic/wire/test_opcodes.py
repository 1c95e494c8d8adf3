import pytest

from traffic.wire.opcodes import EXTENSION_BYTES, SHAPES, Extension, Opcode


def test_every_opcode_has_a_shape():
    assert set(SHAPES) == set(Opcode)


@pytest.mark.parametrize("opcode", Opcode)
def test_shape_agrees_with_the_name(opcode):
    shape, name = SHAPES[opcode], opcode.name
    assert shape.starts_message == ("_MIDDLE" not in name and "_LAST" not in name)
    assert shape.ends_message == ("_MIDDLE" not in name and "_FIRST" not in name)
    assert (Extension.IMMDT in shape.extensions) == name.endswith("WITH_IMMEDIATE")
    assert (Extension.IETH in shape.extensions) == name.endswith("WITH_INVALIDATE")
    writes_first = name.startswith(("RDMA_WRITE_FIRST", "RDMA_WRITE_ONLY"))
    assert (Extension.RETH in shape.extensions) == (writes_first or name == "RDMA_READ_REQUEST")
    responds = name.endswith("ACKNOWLEDGE") or ("READ_RESPONSE" in name and "MIDDLE" not in name)
    assert (Extension.AETH in shape.extensions) == responds
    carries_data = name.startswith(("SEND", "RDMA_WRITE", "RDMA_READ_RESPONSE"))
    assert shape.has_payload == carries_data


def test_extension_bytes():
    assert EXTENSION_BYTES[Opcode.SEND_ONLY] == 0
    assert EXTENSION_BYTES[Opcode.RDMA_WRITE_FIRST] == 16
    assert EXTENSION_BYTES[Opcode.RDMA_WRITE_ONLY_WITH_IMMEDIATE] == 20
    assert EXTENSION_BYTES[Opcode.ACKNOWLEDGE] == 4
    assert EXTENSION_BYTES[Opcode.ATOMIC_ACKNOWLEDGE] == 12
    assert EXTENSION_BYTES[Opcode.FETCH_ADD] == 28
    assert EXTENSION_BYTES[Opcode.CNP] == 16
    assert sum(size >= 0 for size in EXTENSION_BYTES) == len(Opcode)
