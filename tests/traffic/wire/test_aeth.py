import pytest

from traffic.wire.aeth import NAK_NAMES, RNR_TIMER_PS, Syndrome, is_ack, is_rnr_nak, rnr_nak, rnr_timer_ps

# The names of `enum ib_rnr_timeout` in Linux's ib_verbs.h, which are milliseconds, by code.
RNR_TIMER_NAMES = (
    "655_36 000_01 000_02 000_03 000_04 000_06 000_08 000_12 000_16 000_24 000_32 000_48 000_64 000_96 001_28 001_92 "
    "002_56 003_84 005_12 007_68 010_24 015_36 020_48 030_72 040_96 061_44 081_92 122_88 163_84 245_76 327_68 491_52"
)


def test_rnr_timer_table():
    expected_ps = [int(name.replace("_", "")) * 10_000_000 for name in RNR_TIMER_NAMES.split()]
    assert list(RNR_TIMER_PS) == expected_ps


def test_rnr_nak_carries_its_timer():
    assert rnr_nak(12) == 0x2C
    assert rnr_timer_ps(rnr_nak(12)) == 640_000_000
    with pytest.raises(ValueError, match="expected an RNR timer code from 0 to 31, found 32"):
        rnr_nak(32)


def test_every_syndrome_is_of_at_most_one_kind():
    assert [syndrome for syndrome in range(256) if is_ack(syndrome)] == list(range(0x20))
    assert [syndrome for syndrome in range(256) if is_rnr_nak(syndrome)] == list(range(0x20, 0x40))


def test_names_of_naks():
    assert is_ack(Syndrome.ACK)
    assert all(0x60 <= syndrome < 0x80 for syndrome in NAK_NAMES)  # kind 3
    assert NAK_NAMES[0x60] == "PSN sequence error"
