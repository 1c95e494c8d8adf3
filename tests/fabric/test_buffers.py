"""Headroom and the division of a switch's memory, against the textbook's sum of delays."""

import pytest

from testbed.fabric.buffers import headroom_bytes, largest_frame_bytes, memory_plan, pause_ps
from testbed.fabric.build import build_plan
from testbed.scenario.model import FabricOptions
from testbed.scenario.qos import QosOptions

GBPS = 10**9
MAX = 4174
"""Largest RoCEv2 frame with 4096 B of payload over IPv4, without FCS."""


@pytest.mark.parametrize(
    ("rate_bps", "quantum_ps"),
    [
        (10**7, 51_200_000),
        (10**8, 5_120_000),
        (GBPS, 512_000),
        (25 * GBPS, 20_480),
        (100 * GBPS, 5_120),
        (400 * GBPS, 1_280),
        (800 * GBPS, 640),
    ],
)
def test_a_quantum_is_512_bit_times(rate_bps: int, quantum_ps: int) -> None:
    assert pause_ps(1, rate_bps) == quantum_ps
    assert pause_ps(0xFFFF, rate_bps) == 0xFFFF * quantum_ps


def test_quanta_that_are_no_whole_picoseconds_are_rounded_up_once() -> None:
    assert pause_ps(3, 7 * GBPS) == 219_429  # 3 * 512 / 7 ns = 219.428571...


@pytest.mark.parametrize(("mtu", "version", "size"), [(4096, 4, MAX), (4096, 6, MAX + 20), (1024, 4, 1102)])
def test_the_largest_frame_is_a_write_with_immediate(mtu: int, version: int, size: int) -> None:
    ethernet, ip, udp, bth, reth, immediate, icrc = 14, 20 if version == 4 else 40, 8, 12, 16, 4, 4
    assert largest_frame_bytes(mtu, version) == ethernet + ip + udp + bth + reth + immediate + mtu + icrc == size


def test_headroom_of_a_link_without_delay_and_response() -> None:
    """The wire back: one largest frame and the pause frame. In the meantime just that comes, in two frames; then the
    one that has just been started, and before all the one that crossed the threshold."""
    wire = MAX + 24
    assert headroom_bytes(100 * GBPS, 0, 0, MAX) == (wire + 84) - 2 * 24 + 2 * MAX


@pytest.mark.parametrize("rate_gbps", [10, 25, 100, 400, 800])
@pytest.mark.parametrize("delay_ps", [0, 25_000, 500_000, 1_500_000])
def test_headroom_is_the_sum_of_its_terms(rate_gbps: int, delay_ps: int) -> None:
    """At these rates a byte takes a whole number of picoseconds, so the terms can be added by hand."""
    byte_ps, wire, response_ps = 8_000 // rate_gbps, MAX + 24, 500_000
    window_bytes = wire + 84 + (2 * delay_ps + response_ps) // byte_ps
    full_frames, rest_bytes = divmod(window_bytes, wire)
    expected = full_frames * MAX + max(rest_bytes - 24, 0) + 2 * MAX
    assert headroom_bytes(rate_gbps * GBPS, delay_ps, response_ps, MAX) == expected


@pytest.mark.parametrize(("rest_bytes", "more_bytes"), [(0, 0), (1, 0), (23, 0), (24, 0), (25, 1), (100, 76)])
def test_a_rest_of_the_window_that_is_all_overhead_takes_nothing_away(rest_bytes: int, more_bytes: int) -> None:
    """A sender that fills the window with whole largest frames starts the last one a little earlier, and loses none."""
    wire, byte_ps = MAX + 24, 80
    response_ps = (4 * wire + rest_bytes - (wire + 84)) * byte_ps
    assert headroom_bytes(100 * GBPS, 0, response_ps, MAX) == (4 + 2) * MAX + more_bytes


def test_headroom_grows_with_everything_that_takes_time() -> None:
    base = headroom_bytes(100 * GBPS, 500_000, 500_000, MAX)
    assert base < headroom_bytes(100 * GBPS, 600_000, 500_000, MAX)
    assert base < headroom_bytes(100 * GBPS, 500_000, 600_000, MAX)
    assert base < headroom_bytes(200 * GBPS, 500_000, 500_000, MAX)
    assert base < headroom_bytes(100 * GBPS, 500_000, 500_000, MAX + 100)


def division(**qos: object) -> tuple[int, int, int, int]:
    options = FabricOptions.model_validate(
        {"topology": {"kind": "single-switch", "hosts": 4}, "switch": {"buffer": "1MiB"}, "qos": qos}
    )
    assert options.qos is not None
    plan = build_plan(options)
    memory = memory_plan(plan, plan.switches[0], options.qos, 4096)
    return memory.buffer_bytes, memory.all_reserved_bytes, memory.all_headroom_bytes, memory.shared_bytes


def test_memory_is_reserved_and_headroom_and_the_rest() -> None:
    headroom = headroom_bytes(100 * GBPS, 500_000, 500_000, MAX)
    assert division(pfc={}) == (2**20, 4 * 8 * 4096, 4 * headroom, 2**20 - 4 * 8 * 4096 - 4 * headroom)
    assert division(pfc={}, lossless=(3, 4, 3))[2] == 2 * 4 * headroom
    assert division(pfc={"headroom": "10KiB"}, reserved="1KiB")[1:3] == (4 * 8 * 1024, 4 * 10_240)


def test_without_flow_control_there_is_no_headroom() -> None:
    assert division()[2] == 0


def test_a_memory_that_is_too_small_leaves_less_than_nothing() -> None:
    options = QosOptions.model_validate({"reserved": "1MiB"})
    fabric = FabricOptions.model_validate({"topology": {"kind": "single-switch"}, "switch": {"buffer": "1MiB"}})
    plan = build_plan(fabric)
    assert memory_plan(plan, plan.switches[0], options, 4096).shared_bytes == 2**20 - 2 * 8 * 2**20
