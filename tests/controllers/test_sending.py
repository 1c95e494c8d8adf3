"""The bytes of the select group's property, and that one place sends."""

import re
from pathlib import Path

import controllers
from controllers.sending import HashSelection


def test_property_bytes() -> None:
    """Layout of struct ntr_group_prop_selection_method in Open vSwitch's netronome-ext.h."""
    made = HashSelection(("ipv4_src", "udp_src"), seed=7).serialize()
    head = "ffff00360000154d0000000100000000"  # experimenter; 54 bytes; Netronome; selection method; pad
    method = b"hash".ljust(16, b"\0").hex() + "0000000000000007"
    fields = "80001604ffffffff" + "80001e02ffff"  # OXM class, field << 1, length, mask of ones
    assert made.hex() == head + method + fields + "0000"  # to a multiple of 8


def test_length_does_not_count_the_padding() -> None:
    made = HashSelection(("ipv6_src", "ipv6_dst", "udp_src"), seed=0).serialize()
    assert int.from_bytes(made[2:4], "big") == 40 + 20 + 20 + 6
    assert len(made) == 88


def test_one_place_sends() -> None:
    sources = Path(controllers.__file__).parent.rglob("*.py")
    calls = {source.name: len(re.findall(r"\.send_msg\(", source.read_text())) for source in sources}
    assert {name: count for name, count in calls.items() if count} == {"sending.py": 1}
