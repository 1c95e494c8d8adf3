"""ARP replies against scapy's reading of them."""

from scapy.layers.l2 import ARP, Ether

from testbed.live.arp import is_arp, proxy_reply

ROUTER = bytes.fromhex("020100000003")
ASKER = "02:00:00:00:00:05"


def request(wanted: str, asker_ip: str = "10.0.0.1") -> bytes:
    return bytes(Ether(src=ASKER, dst="ff:ff:ff:ff:ff:ff") / ARP(op=1, hwsrc=ASKER, psrc=asker_ip, pdst=wanted))


def test_the_router_answers_for_everybody() -> None:
    frame = request("10.3.0.2")
    assert is_arp(frame)
    reply = proxy_reply(frame, ROUTER, "10.0.0.1")
    assert reply is not None
    assert len(reply) == 60
    read = Ether(reply)
    assert (read.dst, read.src) == (ASKER, "02:01:00:00:00:03")
    arp = read[ARP]
    assert (arp.op, arp.hwsrc, arp.psrc, arp.hwdst, arp.pdst) == (
        2, "02:01:00:00:00:03", "10.3.0.2", ASKER, "10.0.0.1",
    )  # fmt: skip


def test_nobody_has_the_hosts_own_address() -> None:
    assert proxy_reply(request("10.0.0.1"), ROUTER, "10.0.0.1") is None
    assert proxy_reply(request("10.0.0.1", asker_ip="0.0.0.0"), ROUTER, "10.0.0.1") is None


def test_a_reply_or_half_a_request_is_not_answered() -> None:
    reply = bytes(Ether(src=ASKER) / ARP(op=2, hwsrc=ASKER, psrc="10.0.0.1", pdst="10.3.0.2"))
    assert proxy_reply(reply, ROUTER, "10.0.0.1") is None
    assert proxy_reply(request("10.3.0.2")[:41], ROUTER, "10.0.0.1") is None


def test_ip_is_not_arp() -> None:
    assert not is_arp(bytes(12) + b"\x08\x00" + bytes(46))
