"""Time series over times in which nothing happens: what is passed over there changes nothing that is kept."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import pytest

from testbed.measurement import series
from testbed.measurement.sampler import SeriesSampler
from testbed.measurement.series import MOST_INTERVALS, SeriesRecord
from testbed.scenario.model import Flows, PauseStorm
from testbed.units import MICROSECOND
from tests.traffic.collectives.kit import Bench, star

PFC: dict[str, object] = {"pfc": {}}
PACKETS = 50  # of 4096 bytes: a flow of 200 KiB
MARKING = {"ecn": {3: {"kmin": "5KB", "kmax": "20KB", "pmax": 1.0}}}
RATE = "rate_bps"


def flows(*listed: tuple[str, str, str]) -> Flows:
    """Return flows of 200 KiB: from where, to where, and when."""
    each = [{"source": a, "destination": b, "size": "200KiB", "start": start} for a, b, start in listed]
    return Flows.model_validate({"kind": "flows", "flows": each})


def an_idle_gap() -> Bench:
    return Bench(star(3), flows(("h0", "h1", "0us"), ("h0", "h2", "2500us")))


def a_pause_storm() -> Bench:
    """Long after all flows but one, and with no frame under way: only the pause goes on."""
    made = Bench(star(3, qos=PFC), flows(("h0", "h1", "0us"), ("h0", "h2", "1500us")))
    storm = {"kind": "pause-storm", "port": "h2-eth0", "at": "200us", "until": "700us"}
    made.fabric.storm([PauseStorm.model_validate(storm)])
    return made


def a_rate_that_rises() -> Bench:
    """Both senders are slowed down; then the last packet of h0 is lost, and its rate rises until the timeout."""
    made = Bench(
        star(3, qos=MARKING), flows(("h0", "h2", "0us"), ("h1", "h2", "0us")), timeout=8, congestion={"kind": "dcqcn"}
    )
    made.lose("h0-eth0", lambda number: number == PACKETS - 1)
    return made


def a_timeout(exponent: int) -> Bench:
    """No congestion control: nothing changes from the loss of the last packet to the timeout."""
    made = Bench(star(2), flows(("h0", "h1", "0us")), timeout=exponent)
    made.lose("h0-eth0", lambda number: number == PACKETS - 1)
    return made


SCENES: dict[str, Callable[[], Bench]] = {
    "gap": an_idle_gap,
    "storm": a_pause_storm,
    "rate": a_rate_that_rises,
    "timeout": partial(a_timeout, 9),
}


class Counting(SeriesSampler):
    """Counts how often everything is read; `skips` says whether it may pass over what stands still."""

    def __init__(self, made: Bench, *, skips: bool = True) -> None:
        super().__init__(made.fabric, made.nics, made.loop)
        self.readings = 0
        self._skips = skips

    def _read(self, time_ps: int) -> bool:
        self.readings += 1
        return super()._read(time_ps)

    def _stands_still(self) -> bool:
        return self._skips and super()._stands_still()


def sampled(make: Callable[[], Bench], *, skips: bool = True) -> tuple[SeriesRecord, int]:
    """Run a scene; return its series, and how many readings they took."""
    made = make()
    sampler = Counting(made, skips=skips)
    sampler.attach()
    made.run()
    found = sampler.finish(max(job.result().end_ps for job in made.jobs), [])
    return found, sampler.readings


def folded(found: SeriesRecord, interval_ps: int) -> SeriesRecord:
    """Return series with intervals as long as that: a timer long after the work lengthens those of every reading."""
    while found.interval_ps < interval_ps:
        for track in found.tracks:
            track.double()
        found = replace(found, interval_ps=2 * found.interval_ps, intervals=-(-found.intervals // 2))
    return found


Series = Mapping[tuple[str, str, int | None], Mapping[int, int]]


def of(found: SeriesRecord) -> Series:
    return {(track.object, track.what, track.priority): dict(track) for track in found.tracks}


@pytest.mark.parametrize("name", SCENES)
def test_to_pass_over_what_stands_still_changes_no_series(name: str) -> None:
    """Readings of every interval have the same in them."""
    every, many = sampled(SCENES[name], skips=False)
    found, few = sampled(SCENES[name])
    assert found.tracks
    assert few < many
    assert found.interval_ps <= every.interval_ps
    assert of(folded(found, every.interval_ps)) == of(every)


def test_a_pause_is_seen_in_each_interval_although_nothing_happens_meanwhile() -> None:
    found, _ = sampled(a_pause_storm)
    (paused,) = found.of(series.PAUSED_PS)
    first, last = 200 * MICROSECOND // found.interval_ps, 700 * MICROSECOND // found.interval_ps
    assert set(range(first + 1, last)) <= set(paused.intervals)
    assert all(dict(paused)[interval] == found.interval_ps for interval in range(first + 1, last))


def test_a_rate_is_seen_in_each_interval_in_which_it_rises_until_a_timeout() -> None:
    found, _ = sampled(a_rate_that_rises)
    sent, rate = (
        next(dict(t) for t in found.of(what) if t.object.startswith("h0-")) for what in ("sent_packets", RATE)
    )
    before, again = sorted(sent)[-2:]
    assert (again - before) * found.interval_ps > 900 * MICROSECOND  # the timeout: 4.096 us * 2^8
    rising = [rate[interval] for interval in range(before, again)]
    assert rising == sorted(rising)
    assert rising[0] < rising[-1]


def test_a_wait_without_a_limit_takes_few_readings() -> None:
    """For a timeout of 67 ms, whose intervals would have to become twice as long seven times."""
    found, readings = sampled(partial(a_timeout, 14))
    assert found.interval_ps == 128 * MICROSECOND
    assert readings < 2 * MOST_INTERVALS
