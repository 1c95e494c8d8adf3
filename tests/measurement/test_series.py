"""Time series: intervals that double, and sums and peaks that stay what they are."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.engine.qos_switch import QosPort
from testbed.measurement import series
from testbed.measurement.records import DropRecord
from testbed.measurement.sampler import SeriesSampler
from testbed.measurement.series import MOST_INTERVALS, SeriesRecord, Track
from testbed.measurement.series_check import series_invariants
from testbed.scenario.qos import QosOptions
from testbed.units import MICROSECOND, MILLISECOND, SECOND
from tests.engine.fabric_kit import Lab, plan_of
from tests.engine.kit import STEADY

PFC = QosOptions.model_validate({"pfc": {}})
samples = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9)), max_size=40).map(sorted)


def track_of(what: str, values: list[tuple[int, int]]) -> Track:
    track = Track("leaf0-eth1", what, 3)
    for interval, value in values:
        track.add(interval, value)
    return track


@STEADY
@given(samples)
def test_joined_intervals_have_the_sum_of_both(values: list[tuple[int, int]]) -> None:
    track = track_of(series.SENT_BYTES, values)
    track.double()
    expected: Counter[int] = Counter()
    for interval, value in values:
        expected[interval // 2] += value
    assert dict(track) == expected


@STEADY
@given(samples)
def test_joined_intervals_have_the_larger_peak_and_the_later_level(values: list[tuple[int, int]]) -> None:
    peak, level = track_of(series.QUEUE_BYTES, values), track_of("rate_bps", values)
    peak.double()
    level.double()
    assert dict(peak) == {i // 2: max(v for j, v in values if j // 2 == i // 2) for i, _ in values}
    assert dict(level) == {interval // 2: value for interval, value in values}


def sampled(lab: Lab, duration_ps: int, drops: list[DropRecord] | None = None) -> SeriesRecord:
    sampler = SeriesSampler(lab.fabric, {}, lab.loop)
    sampler.attach()
    lab.run()
    return sampler.finish(duration_ps, drops or [])


def of(found: SeriesRecord, what: str, name: str) -> dict[int, int]:
    return next((dict(track) for track in found.of(what) if track.object == name), {})


def test_a_frame_counts_in_the_interval_in_which_it_begins() -> None:
    lab = Lab(plan_of("single-switch"))
    lab.send(MICROSECOND - 1, 0, 1, 1000)
    lab.send(3 * MICROSECOND, 0, 1, 2000)
    found = sampled(lab, 4 * MICROSECOND)
    assert (found.interval_ps, found.intervals) == (MICROSECOND, 5)
    wire = lab.fabric.transmitters["h0-eth0"]
    sent = of(found, series.SENT_BYTES, "h0-eth0")
    assert list(sent) == [0, 3]
    assert sum(sent.values()) == wire.sent_bytes


def test_the_most_in_a_queue_is_seen_in_each_interval_and_by_policies_too() -> None:
    lab = Lab(plan_of("single-switch"), qos=QosOptions())
    for number in range(40):
        for source in (0, 1):
            lab.send_ip(0, source, 2, 4000, number)
    found = sampled(lab, 30 * MICROSECOND)
    port = next(port for port in lab.fabric.ports.values() if port.queue.peak_bytes)
    assert isinstance(port, QosPort)
    (queue,) = [queue for queue in port.scheduler.queues if queue.peak_bytes]
    depths = of(found, series.QUEUE_BYTES, port.name)
    assert max(depths.values()) == queue.peak_bytes == queue.watermark_bytes > 40_000
    assert len(depths) > 10
    assert depths[max(depths)] < queue.peak_bytes


def test_a_long_run_has_between_half_and_all_of_the_intervals() -> None:
    lab = Lab(plan_of("single-switch"))
    for number in range(600):
        lab.send(number * 10 * MICROSECOND, 0, 1, 1000, number)
    found = sampled(lab, 6 * MILLISECOND)
    assert found.interval_ps == 8 * MICROSECOND
    assert MOST_INTERVALS // 2 <= found.intervals <= MOST_INTERVALS
    assert sum(of(found, series.SENT_BYTES, "h0-eth0").values()) == lab.fabric.transmitters["h0-eth0"].sent_bytes


def test_a_timer_long_after_the_work_makes_intervals_no_longer() -> None:
    lab = Lab(plan_of("single-switch"))
    lab.send(0, 0, 1, 1000)
    lab.loop.at(4 * SECOND, lambda _: None)
    assert sampled(lab, 2 * MICROSECOND).interval_ps == MICROSECOND


def test_work_after_a_long_silence_makes_them_as_long_as_it_takes() -> None:
    lab = Lab(plan_of("single-switch"))
    lab.send(0, 0, 1, 1000)
    lab.send(2 * MILLISECOND, 0, 1, 1000)
    found = sampled(lab, 2 * MILLISECOND)
    assert found.interval_ps == 4 * MICROSECOND
    assert list(of(found, series.SENT_BYTES, "h0-eth0")) == [0, 500]


def test_pauses_add_up_to_their_duration() -> None:
    lab = Lab(plan_of("single-switch", buffer="1MiB"), qos=PFC)
    for number in range(300):
        for source in (0, 1, 2):
            lab.send_ip(0, source, 3, 4000, number)
    found = sampled(lab, lab.loop.now)
    control = lab.fabric.flow_control
    assert control is not None
    paused = {name: each.duration_ps(3) for name, each in control.receivers.items() if each.duration_ps(3)}
    assert {t.object: sum(t.values) for t in found.of(series.PAUSED_PS)} == paused
    assert paused
    assert all(value <= found.interval_ps for track in found.of(series.PAUSED_PS) for value in track.values)


def test_the_invariant_holds_and_names_what_does_not_add_up() -> None:
    lab = Lab(plan_of("dumbbell"), qos=PFC)
    for number in range(100):
        for source in (0, 1):
            lab.send_ip(0, source, 2, 4000, number)
    found = sampled(lab, 0)
    (held,) = series_invariants(found, lab.fabric, [])
    assert held.ok, held.detail
    lab.fabric.transmitters["h0-eth0"].sent_bytes += 1
    (broken,) = series_invariants(found, lab.fabric, [])
    assert not broken.ok
    assert broken.detail.startswith("sent_bytes of h0-eth0: ")


def test_no_series_is_no_invariant() -> None:
    assert list(series_invariants(None, Lab(plan_of("dumbbell")).fabric, [])) == []


def test_drops_are_series_of_where_they_were() -> None:
    lab = Lab(plan_of("single-switch"))
    drop = DropRecord(1_500_000, "leaf0-eth1", "fault", "data", None, None, None, None)
    found = sampled(lab, 2 * MICROSECOND, [drop, drop])
    assert of(found, series.DROPPED, "leaf0-eth1") == {1: 2}


@pytest.mark.parametrize("turn", [1, 7, 100_000])
def test_observing_changes_nothing(turn: int) -> None:
    seen = []
    for observed in (False, True):
        lab = Lab(plan_of("single-switch", buffer="1MiB"), qos=PFC)
        for number in range(50):
            for source in (0, 1, 2):
                lab.send_ip(number * 100_000, source, 3, 4000, number)
        if observed:
            SeriesSampler(lab.fabric, {}, lab.loop).attach()
        while lab.loop.run_events(turn):
            if lab.fabric.stopped(work_left=False):
                break
        seen.append((lab.loop.now, [nic.received for nic in lab.nics.values()]))
    assert seen[0] == seen[1]
