import subprocess
import sys

import pytest

from tests.traffic.wire.vectors import ACK, CNP, CONNECTX_CNP, NAK, VECTORS, WRITE_ONLY, template
from traffic.wire.layers import (
    AETH,
    BTH,
    IP,
    RETH,
    UDP,
    CNPPadding,
    Ether,
    ImmDt,
    IPv6,
    Raw,
    icrc_is_right,
)
from traffic.wire.opcodes import Opcode
from traffic.wire.template import aeth, immdt, reth


def below(tos=2, source="02:00:00:00:00:01", destination="02:00:00:00:00:02"):
    ip = IP(src="10.0.0.1", dst="10.0.0.2", tos=tos, flags="DF", id=0)
    return Ether(src=source, dst=destination) / ip / UDP(sport=49152, dport=4791, chksum=0)


def test_construct_write_only():
    bth = BTH(opcode=Opcode.RDMA_WRITE_ONLY, dqpn=0x11, psn=0xFFFFFF, ackreq=1)
    assert bytes(below(0x6A) / bth / RETH(va=0x1000, rkey=0x2222, dmalen=5) / b"hello") == WRITE_ONLY


def test_construct_ack():
    assert bytes(below() / BTH(opcode=Opcode.ACKNOWLEDGE, dqpn=0x12) / AETH(msn=1)) == ACK


def test_construct_nak():
    assert bytes(below() / BTH(opcode=Opcode.ACKNOWLEDGE, dqpn=0x12, psn=7) / AETH(kind="NAK", value=0)) == NAK


def test_construct_cnp():
    assert bytes(below(0xC2) / BTH(opcode=Opcode.CNP, becn=1, dqpn=0x12) / CNPPadding()) == CNP


def test_construct_connectx_cnp():
    ip = IP(src="10.0.17.1", dst="10.0.18.1", tos=0xC2, flags="DF", id=0x718C)
    ether = Ether(src="7c:fe:90:64:3b:32", dst="e4:1d:2d:ab:2b:c2")
    bth = BTH(opcode=Opcode.CNP, becn=1, dqpn=0x118)
    assert bytes(ether / ip / UDP(sport=0, dport=4791, chksum=0) / bth / CNPPadding()) == CONNECTX_CNP


def test_construct_vlan_and_ipv6():
    source = IPv6(src="fd00::1:0:1", dst="fd00::2:0:7", tc=2) / UDP(sport=49152, dport=4791, chksum=0)
    frame = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / source / BTH(opcode=4, dqpn=0x12) / b"odd size.."
    assert bytes(frame) == template(6).emit(Opcode.SEND_ONLY, 0, payload=b"odd size..")


def test_construct_with_a_wrong_icrc_and_pad_count_on_demand():
    frame = bytes(below() / BTH(opcode=Opcode.SEND_ONLY, icrc=0, padcount=0) / b"four")
    assert frame[-4:] == bytes(4)
    assert not icrc_is_right(Ether(frame))


def test_deconstruct_write_only():
    frame = Ether(WRITE_ONLY)
    assert (frame[BTH].opcode, frame[BTH].psn, frame[BTH].dqpn, frame[BTH].ackreq) == (0x0A, 0xFFFFFF, 0x11, 1)
    assert (frame[BTH].padcount, frame[BTH].pad) == (3, b"\0\0\0")
    assert (frame[RETH].va, frame[RETH].rkey, frame[RETH].dmalen) == (0x1000, 0x2222, 5)
    assert frame[Raw].load == b"hello"


def test_deconstruct_ack():
    frame = Ether(ACK)
    assert (frame[AETH].kind, frame[AETH].value, frame[AETH].syndrome, frame[AETH].msn) == (0, 0x1F, 0x1F, 1)
    assert not frame[AETH].payload


def test_deconstruct_nak():
    frame = Ether(NAK)
    assert (frame[AETH].kind, frame[AETH].value, frame[AETH].syndrome) == (3, 0, 0x60)
    assert frame[AETH].sprintf("%kind%") == "NAK"


def test_deconstruct_cnp():
    frame = Ether(CONNECTX_CNP)
    assert (frame[BTH].opcode, frame[BTH].becn, frame[BTH].dqpn) == (0x81, 1, 0x118)
    assert CNPPadding in frame


def test_deconstruct_write_only_with_immediate():
    extension = reth(1, 2, 3) + immdt(0xABCD)
    frame = Ether(template().emit(Opcode.RDMA_WRITE_ONLY_WITH_IMMEDIATE, 0, extension, b"abc"))
    assert (frame[RETH].dmalen, frame[ImmDt].immediate, frame[Raw].load) == (3, 0xABCD, b"abc")


def test_deconstruct_send_last_with_immediate():
    frame = Ether(template().emit(Opcode.SEND_LAST_WITH_IMMEDIATE, 0, immdt(7), b"abcd"))
    assert (frame[ImmDt].immediate, frame[Raw].load) == (7, b"abcd")


def test_deconstruct_read_response():
    frame = Ether(template().emit(Opcode.RDMA_READ_RESPONSE_ONLY, 0, aeth(0x1F, 3), b"data"))
    assert (frame[AETH].msn, frame[Raw].load) == (3, b"data")


@pytest.mark.parametrize("data", VECTORS.values(), ids=VECTORS)
def test_read_and_built_again(data):
    frame = Ether(data)
    assert icrc_is_right(frame)
    assert bytes(frame) == data
    derived = Ether(data)
    derived[BTH].icrc = derived[BTH].pad = derived[BTH].padcount = None
    assert bytes(derived) == data


def test_a_flipped_bit_makes_the_icrc_wrong():
    assert not icrc_is_right(Ether(WRITE_ONLY[:-6] + b"\x01" + WRITE_ONLY[-5:]))


@pytest.mark.parametrize("opcode", Opcode)
def test_opcodes_have_names(opcode):
    expected = "CNP" if opcode is Opcode.CNP else f"RC_{opcode.name}"
    assert BTH(opcode=opcode).sprintf("%opcode%") == expected


def run_python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip(), done.stderr


def test_import_reads_no_routes_and_says_nothing():
    code = "import sys, traffic.wire.layers; print('scapy.route' in sys.modules or 'scapy.route6' in sys.modules)"
    assert run_python(code) == ("False", "")


def test_routes_are_there_when_asked_for():
    code = (
        "import traffic.wire.layers, scapy.config as c; c.conf.route.route('127.0.0.1'); c.conf.route6.route('::1');"
        "print(type(c.conf.route).__name__, type(c.conf.route6).__name__)"
    )
    assert run_python(code)[0] == "Route Route6"


def test_the_fast_path_loads_no_scapy():
    code = (
        "import sys, traffic.wire.packet, traffic.wire.template; print(any(m.startswith('scapy') for m in sys.modules))"
    )
    assert run_python(code) == ("False", "")
