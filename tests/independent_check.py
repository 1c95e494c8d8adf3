"""An independent check of every frame in a capture: it shares no code with the packages it checks.

It reads pcap (own few lines) or pcapng (the python-pcapng package), takes each frame apart with struct, computes the
ICRC with zlib, and follows each stream of packets: order in a message (FIRST MIDDLE* LAST | ONLY), consecutive PSNs
except for retransmissions, one MTU, RDMA lengths that add up. `check_capture` returns what it saw and every problem;
`tshark_problems` has Wireshark read the same file.
"""

import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tests.tshark import Fields, TsharkReport, tshark_problems

__all__ = ["CheckReport", "Fields", "TsharkReport", "check_capture", "check_frames", "read_frames", "tshark_problems"]

MODULUS = 1 << 24
MTUS = {256, 512, 1024, 2048, 4096}
READ_REQUEST, ACK, ATOMIC_ACK, CNP = 0x0C, 0x11, 0x12, 0x81

# opcode: (name, headers behind the BTH: R RETH, I ImmDt, A AETH, O AtomicAckETH, T AtomicETH, D DETH, C CNP's zeros)
OPCODES = {
    0x00: ("SEND_FIRST", ""), 0x01: ("SEND_MIDDLE", ""), 0x02: ("SEND_LAST", ""),
    0x03: ("SEND_LAST_WITH_IMMEDIATE", "I"), 0x04: ("SEND_ONLY", ""), 0x05: ("SEND_ONLY_WITH_IMMEDIATE", "I"),
    0x06: ("RDMA_WRITE_FIRST", "R"), 0x07: ("RDMA_WRITE_MIDDLE", ""), 0x08: ("RDMA_WRITE_LAST", ""),
    0x09: ("RDMA_WRITE_LAST_WITH_IMMEDIATE", "I"), 0x0A: ("RDMA_WRITE_ONLY", "R"),
    0x0B: ("RDMA_WRITE_ONLY_WITH_IMMEDIATE", "RI"), 0x0C: ("RDMA_READ_REQUEST", "R"),
    0x0D: ("RDMA_READ_RESPONSE_FIRST", "A"), 0x0E: ("RDMA_READ_RESPONSE_MIDDLE", ""),
    0x0F: ("RDMA_READ_RESPONSE_LAST", "A"), 0x10: ("RDMA_READ_RESPONSE_ONLY", "A"),
    0x11: ("ACKNOWLEDGE", "A"), 0x12: ("ATOMIC_ACKNOWLEDGE", "AO"), 0x13: ("COMPARE_SWAP", "T"),
    0x14: ("FETCH_ADD", "T"), 0x81: ("CNP", "C"),
    0x64: ("UD_SEND_ONLY", "D"), 0x65: ("UD_SEND_ONLY_WITH_IMMEDIATE", "DI"),
}  # fmt: skip
HEADER_BYTES = {"R": 16, "I": 4, "A": 4, "O": 8, "T": 28, "D": 8, "C": 16}
WITHOUT_PAYLOAD = {READ_REQUEST, ACK, ATOMIC_ACK, 0x13, 0x14, CNP}


class Packet(NamedTuple):
    """A RoCEv2 packet taken apart. `source` is who sent it to whom: both addresses and the UDP source port."""

    source: bytes
    opcode: int
    destination_qp: int
    psn: int
    ack_request: int
    pad: int
    headers: dict[str, bytes]
    payload: bytes

    @property
    def name(self) -> str:
        return OPCODES.get(self.opcode, (f"opcode {self.opcode:#04x}", ""))[0]

    def fields(self, frame: int) -> Fields:
        reth, aeth, immediate = (self.headers.get(kind) for kind in "RAI")
        target = reth or self.headers.get("T")
        return Fields(
            frame, self.opcode, self.destination_qp, self.psn, self.ack_request, self.pad,
            remote_address=int.from_bytes(target[:8], "big") if target else None,
            dma_length=int.from_bytes(reth[12:], "big") if reth else None,
            syndrome=aeth[0] if aeth else None,
            msn=int.from_bytes(aeth[1:], "big") if aeth else None,
            immediate=int.from_bytes(immediate, "big") if immediate else None,
        )  # fmt: skip


@dataclass
class Stream:
    """What is known of one sender's packets to one queue pair, requests and responses apart."""

    next_psn: int | None = None
    psn_slack: int = 0
    open_message: str = ""  # "" none; "?" not known, behind a gap; else the kind of message that is not complete
    message_bytes: int = 0
    dma_length: int | None = None
    mtu: int | None = None
    last_msn: int | None = None
    sent: dict[int, tuple[int, int]] = field(default_factory=dict)


@dataclass
class CheckReport:
    """What a capture holds, and everything that is wrong with it (empty when all is well)."""

    frames: int = 0
    other_frames: int = 0
    retransmissions: int = 0
    gaps: int = 0
    by_opcode: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    fields: list[Fields] = field(default_factory=list)


def read_frames(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (interface, frame) of a pcap or pcapng file. Raises ValueError when a frame was cut in capturing."""
    data = path.read_bytes()
    frames = _read_pcapng(path) if data[:4] == b"\x0a\x0d\x0d\x0a" else _read_pcap(data)
    for number, (interface, frame, original_bytes) in enumerate(frames, 1):
        if len(frame) != original_bytes:
            raise ValueError(f"frame {number}: expected {original_bytes} B, found {len(frame)} B captured")
        yield interface, frame


def _read_pcap(data: bytes) -> Iterator[tuple[int, bytes, int]]:
    order = {b"\xd4\xc3\xb2\xa1": "<", b"\x4d\x3c\xb2\xa1": "<", b"\xa1\xb2\xc3\xd4": ">", b"\xa1\xb2\x3c\x4d": ">"}
    endian, at = order[data[:4]], 24
    while at < len(data):
        captured_bytes, original_bytes = struct.unpack_from(endian + "8xII", data, at)
        yield 0, data[at + 16 : at + 16 + captured_bytes], original_bytes
        at += 16 + captured_bytes


def _read_pcapng(path: Path) -> Iterator[tuple[int, bytes, int]]:
    from pcapng import FileScanner
    from pcapng.blocks import EnhancedPacket

    with path.open("rb") as stream:
        for block in FileScanner(stream):
            if isinstance(block, EnhancedPacket):
                yield block.interface_id, bytes(block.packet_data), block.packet_len


def check_capture(path: Path, *, allow_gaps: bool = False) -> CheckReport:
    """Check every frame of a capture file; see `check_frames`."""
    return check_frames(read_frames(path), allow_gaps=allow_gaps)


def check_frames(frames: Iterator[tuple[int, bytes]], *, allow_gaps: bool = False) -> CheckReport:
    """Check (interface, frame) pairs in the order in which they were captured.

    `allow_gaps` is for captures that begin late or were taken behind a place where packets are lost: there a PSN may be
    missing, and the order within a message is checked only where no packet is missing.
    """
    report, unknown = CheckReport(), "?" if allow_gaps else ""
    streams: dict[tuple[int, bytes, int, bool], Stream] = {}
    for number, (interface, frame) in enumerate(frames, 1):
        report.frames += 1
        found: list[str] = []
        packet = _take_apart(frame, found)
        name = packet.name if packet else "not taken apart"
        if packet:
            report.by_opcode[name] += 1
            report.fields.append(packet.fields(number))
            if packet.opcode < 0x20 and not found:
                is_response = 0x0D <= packet.opcode <= ATOMIC_ACK
                key = (interface, packet.source, packet.destination_qp, is_response)
                follow = _follow_response if is_response else _follow_request
                missing = follow(streams.setdefault(key, Stream(open_message=unknown)), packet, report, found)
                report.gaps += bool(missing)
                found += [missing] if missing and not allow_gaps else []
        elif not found:
            report.other_frames += 1
        report.problems += [f"frame {number}, {name}: {problem}" for problem in found]
    return report


def _take_apart(frame: bytes, found: list[str]) -> Packet | None:
    """Return the RoCEv2 packet in a frame; None for another frame, and for one that is too short to take apart."""
    at = 12
    while frame[at : at + 2] in (b"\x81\x00", b"\x88\xa8"):
        at += 4
    ethertype, ip = frame[at : at + 2], frame[at + 2 :]
    if ethertype == b"\x08\x00" and ip[9:10] == b"\x11":
        header_bytes, total_bytes, variant = 20, int.from_bytes(ip[2:4], "big"), (1, 8, 10, 11)
        addresses = ip[12:20]
    elif ethertype == b"\x86\xdd" and ip[6:7] == b"\x11":
        header_bytes, total_bytes, variant = 40, 40 + int.from_bytes(ip[4:6], "big"), (1, 2, 3, 7)
        addresses = ip[8:40]
    else:
        return None
    udp = ip[header_bytes:total_bytes]
    if udp[2:4] != (4791).to_bytes(2, "big"):
        return None
    _check_below(ip, header_bytes, total_bytes, addresses, found)
    if len(udp) < 24:
        found.append(f"{len(udp)} B of UDP, expected UDP, BTH and ICRC")
        return None
    masked = bytearray(ip[:total_bytes])
    for place in (*variant, header_bytes + 6, header_bytes + 7, header_bytes + 12):
        masked[place] = 0xFF
    masked[0] |= 0x0F if header_bytes == 40 else 0
    crc = zlib.crc32(b"\xff" * 8 + masked[:-4]).to_bytes(4, "little")
    if crc != udp[-4:]:
        found.append(f"ICRC {udp[-4:].hex()}, expected {crc.hex()}")
    return _take_transport_apart(addresses + udp[:2], udp[8:-4], found)


def _check_below(ip: bytes, header_bytes: int, total_bytes: int, addresses: bytes, found: list[str]) -> None:
    """Check IP and UDP: checksums, flags and lengths."""
    udp = ip[header_bytes:total_bytes]
    pseudo_header = addresses + struct.pack("!HH", 17, len(udp))
    padded_by_ethernet = len(ip) <= 46
    rules = [
        (header_bytes == 40 or ip[0] == 0x45, f"IP version and header length {ip[0]:#04x}, expected 0x45"),
        (header_bytes == 40 or _ones_sum(ip[:20]) == 0xFFFF, "wrong IP header checksum"),
        (header_bytes == 40 or ip[6:8] == b"\x40\x00", f"IP flags and offset {ip[6:8].hex()}, expected DF alone"),
        (total_bytes == len(ip) or padded_by_ethernet, f"IP length {total_bytes}, but {len(ip)} B captured"),
        (int.from_bytes(udp[4:6], "big") == total_bytes - header_bytes, "UDP length does not match IP length"),
        (udp[6:8] == b"\0\0" or _ones_sum(pseudo_header + udp) == 0xFFFF, "UDP checksum neither 0 nor right"),
    ]
    found += [problem for holds, problem in rules if not holds]


def _ones_sum(data: bytes) -> int:
    data += b"\0" * (len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def _take_transport_apart(source: bytes, transport: bytes, found: list[str]) -> Packet:
    """Take BTH, headers and payload apart and check each for itself; `transport` is without ICRC."""
    opcode, flags, partition, qp_word, psn_word = struct.unpack_from("!BBHII", transport)
    name, kinds = OPCODES.get(opcode, ("", ""))
    pad, body, headers = flags >> 4 & 3, transport[12:], {}
    if len(body) < sum(HEADER_BYTES[kind] for kind in kinds):
        found.append(f"{len(body)} B behind the BTH, too short for its headers")
        kinds = ""
    for kind in kinds:
        headers[kind], body = body[: HEADER_BYTES[kind]], body[HEADER_BYTES[kind] :]
    payload, padding = body[: max(0, len(body) - pad)], body[max(0, len(body) - pad) :]
    rules = [
        (name, "unknown opcode"),
        (flags & 0x0F == 0, f"transport version {flags & 0x0F}"),
        (partition == 0xFFFF, f"P_Key {partition:#06x}, expected 0xffff"),
        (qp_word >> 24 & 0xBF == 0, f"FECN or reserved bits before the QP set: {qp_word >> 24:#04x}"),
        (bool(qp_word >> 30 & 1) == (opcode == CNP), f"BECN {qp_word >> 30 & 1}"),
        (psn_word >> 24 & 0x7F == 0, f"reserved bits before the PSN set: {psn_word >> 24 & 0x7F:#04x}"),
        (len(body) % 4 == 0, f"{len(body)} B of payload and pad, no multiple of 4"),
        (pad <= len(body) and not any(padding), f"pad count {pad}, payload and pad end in {padding.hex()}"),
        (not pad or not name.endswith(("FIRST", "MIDDLE")), f"pad count {pad} in a packet that is not the last"),
        (not payload or opcode not in WITHOUT_PAYLOAD, f"{len(payload)} B of payload, expected none"),
        (opcode != CNP or not (any(headers.get("C", b"")) or psn_word), "PSN and 16 bytes of a CNP must be zero"),
    ]
    found += [problem for holds, problem in rules if not holds]
    if "A" in headers:
        _check_syndrome(opcode, headers["A"][0], found)
    return Packet(source, opcode, qp_word & 0xFFFFFF, psn_word & 0xFFFFFF, psn_word >> 31, pad, headers, payload)


def _check_syndrome(opcode: int, syndrome: int, found: list[str]) -> None:
    kind = syndrome & 0xE0
    if kind not in (0x00, 0x20, 0x60) or (kind == 0x60 and syndrome > 0x64):
        found.append(f"reserved AETH syndrome {syndrome:#04x}")
    if kind and opcode != ACK:
        found.append(f"negative AETH syndrome {syndrome:#04x} in a response that carries data")


def _follow_request(stream: Stream, packet: Packet, report: CheckReport, found: list[str]) -> str:
    """Follow a requester: PSNs, order in the message, sizes. Returns what is missing before this packet, or ""."""
    missing = ""
    size = (packet.opcode, len(packet.payload))
    if stream.next_psn is not None:
        ahead = (packet.psn - stream.next_psn + MODULUS // 2) % MODULUS - MODULUS // 2
        if ahead < 0:
            report.retransmissions += 1
            # The same packet as before; only a READ may be asked for again from its middle.
            if packet.opcode != READ_REQUEST and stream.sent.get(packet.psn, size) != size:
                found.append(f"PSN {packet.psn} retransmitted as {size}, was {stream.sent[packet.psn]} (opcode, bytes)")
            return ""
        if ahead > stream.psn_slack:
            missing, stream.open_message = f"PSN {packet.psn}, expected {stream.next_psn}", "?"
    _check_message(stream, packet, found)
    stream.sent[packet.psn] = size
    stream.next_psn, stream.psn_slack = (packet.psn + 1) % MODULUS, 0
    if packet.opcode == READ_REQUEST:  # takes one PSN for each packet of its response, at most those of MTU 256
        response_bytes = int.from_bytes(packet.headers["R"][12:], "big")
        stream.psn_slack = max(0, -(-response_bytes // (stream.mtu or 256)) - 1)
    return missing


def _follow_response(stream: Stream, packet: Packet, report: CheckReport, found: list[str]) -> str:  # noqa: ARG001
    """Follow a responder: MSNs that don't go back; READ responses in order, but a new one may begin at any time."""
    if packet.opcode == ATOMIC_ACK:
        return ""
    if packet.opcode == ACK:
        msn = int.from_bytes(packet.headers["A"][1:], "big")
        if stream.last_msn is not None and (msn - stream.last_msn) % MODULUS >= MODULUS // 2:
            found.append(f"MSN went back from {stream.last_msn} to {msn}")
        stream.last_msn = msn
        return ""
    missing = ""
    if not packet.name.endswith(("_MIDDLE", "_LAST")):
        stream.open_message = ""
    elif stream.next_psn != packet.psn:
        missing, stream.open_message = f"READ response with PSN {packet.psn}, expected {stream.next_psn}", "?"
    _check_message(stream, packet, found)
    stream.next_psn = (packet.psn + 1) % MODULUS
    return missing


def _check_message(stream: Stream, packet: Packet, found: list[str]) -> None:
    """FIRST MIDDLE* LAST | ONLY, of one kind; all but the last as long as the MTU; the RDMA length is their sum."""
    name, payload_bytes = packet.name, len(packet.payload)
    kind = name.split("_FIRST")[0].split("_MIDDLE")[0].split("_LAST")[0].split("_ONLY")[0]
    starts = "_MIDDLE" not in name and "_LAST" not in name
    in_order = stream.open_message == ("" if starts else kind)
    if not in_order and stream.open_message != "?":
        found.append(f"out of order; message that is not complete: {stream.open_message or 'none'}")
    if starts:
        stream.message_bytes = 0
        stream.dma_length = int.from_bytes(packet.headers["R"][12:], "big") if kind == "RDMA_WRITE" else None
    stream.message_bytes += payload_bytes
    if name.endswith(("_FIRST", "_MIDDLE")):
        if payload_bytes not in MTUS or payload_bytes != (stream.mtu or payload_bytes):
            found.append(f"{payload_bytes} B of payload, expected one MTU, {stream.mtu or sorted(MTUS)}")
        stream.mtu, stream.open_message = payload_bytes, kind if in_order or starts else "?"
        return
    if payload_bytes > (stream.mtu or 4096) or (payload_bytes == 0 and "_LAST" in name):
        found.append(f"{payload_bytes} B of payload in the last packet, MTU {stream.mtu or 4096}")
    if (in_order or starts) and stream.dma_length not in (None, stream.message_bytes):
        found.append(f"RETH length {stream.dma_length}, but the message has {stream.message_bytes} B")
    stream.open_message = ""
