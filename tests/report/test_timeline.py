"""timeline.json: it keeps the rules of its format, and shows what there was."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from testbed.measurement import series
from testbed.measurement.causes.model import QUEUE, Cause, Explanation, Stall, StallPart
from testbed.measurement.events import EventRecord, Events
from testbed.measurement.pauses import PauseRecord
from testbed.measurement.records import Measurements
from testbed.measurement.series import SeriesRecord, Track
from testbed.report import timeline, timeline_counters
from testbed.report.timeline import write_timeline
from testbed.report.timeline_tracks import Timeline
from tests.report import examples, lossless_examples, trace_events
from traffic.results import MessageRecord, Wait


def message(source: str, destination: str, posted: int, arrived: int | None, **changes: Any) -> MessageRecord:
    return replace(
        MessageRecord(source, destination, 0, 0, 4096, posted, None, None, arrived, f"{source}-eth0", 17, 0, 1),
        **changes,
    )


def queue_track(values: list[tuple[int, int]], what: str = series.QUEUE_BYTES) -> Track:
    track = Track("leaf0-eth1", what, 3)
    for interval, value in values:
        track.add(interval, value)
    return track


def measured(tracks: tuple[Track, ...] = (), records: tuple[EventRecord, ...] = ()) -> Measurements:
    run = examples.lossy()
    (ring,) = run.collectives
    messages = (
        message("h0", "h1", 1_000, 9_000_001),
        message("h0", "h2", 2_000, 5_000_000, sent_ps=2_500),
        message("h3", "h1", 7, None),
        message("h3", "h1", 9, 700_000, queue_pair=None),
    )
    waits = (Wait("h0", "compute", 0, 0, 0, 5_000), Wait("h0", "data from h1", 0, 0, 5_000, 7_003))
    return replace(
        run,
        collectives=(replace(ring, messages=messages, waits=waits),),
        series=SeriesRecord(1_000_000, 10, tracks, 0, 0),
        events=Events(records, 0),
    )


def written(run: Measurements, directory: Path) -> tuple[str, list[dict[str, Any]]]:
    text = write_timeline(directory, run).read_text(encoding="utf-8")
    return text, json.loads(text)["traceEvents"]


@pytest.mark.parametrize(
    "run", [examples.lossy(), examples.failed(), examples.large(), lossless_examples.marked(), measured()]
)
def test_it_keeps_the_rules_of_the_format(run: Measurements, tmp_path: Path) -> None:
    text, _ = written(run, tmp_path)
    assert trace_events.problems(text) == []


def test_waits_are_slices_of_their_rank_exact_to_the_picosecond(tmp_path: Path) -> None:
    _, events = written(measured(), tmp_path)
    slices = [(e["name"], e["ts"], e["dur"]) for e in events if e["ph"] == "X" and "waits" in e["name"] + "waits"]
    assert ("compute", 0, 0.005) in slices
    assert ("waits: data from h1", 0.005, 0.002003) in slices


def test_of_a_waits_many_causes_those_that_cost_most_are_named(tmp_path: Path) -> None:
    """A rank of a large fabric has hundreds, and each of its waits would name them all."""
    causes = tuple(Cause(QUEUE, f"leaf{n}-eth1", "") for n in range(9))
    parts = tuple(StallPart(n, 100 + n, 5_000, 7_003) for n in range(9))
    explanation = Explanation(causes, (Stall(0, None, "h0", 1_000, parts),), {})
    _, events = written(replace(measured(), explanation=explanation), tmp_path)
    (waited,) = [e for e in events if e["name"] == "waits: data from h1"]
    named = "; ".join(f"queue at leaf{n}-eth1" for n in (8, 7, 6, 5))
    assert waited["args"]["causes"] == f"{named}; and 5 more"


def test_an_arrow_goes_from_each_message_to_its_arrival(tmp_path: Path) -> None:
    _, events = written(measured(), tmp_path)
    arrows = [[e["ts"] for e in events if e["ph"] == end] for end in "sf"]
    assert sorted(arrows[0]) == [0.000009, 0.001, 0.0025]
    assert sorted(arrows[1]) == [0.7, 5, 9.000001], "what never arrived has none"
    names = {e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert {"h0-eth0 sends", "h0-eth0 sends (2)", "h3 sends over NVLink", "h1 receives"} <= names


def test_events_are_instants_where_they_were(tmp_path: Path) -> None:
    drop = EventRecord(3_000_000, "drop", "leaf0-eth1", None, "h0", "h1", 17, 5, "data: fault")
    down = EventRecord(1, "link_down", "leaf0-spine0")
    _, events = written(measured(records=(down, EventRecord(2, "mark", "leaf0-eth1", 3), drop)), tmp_path)
    shown = [(e["name"], e["ts"]) for e in events if e["ph"] == "i"]
    assert sorted(shown) == [("drop", 3), ("link_down", 0.000001)]
    (dropped,) = [e for e in events if e["name"] == "drop"]
    assert dropped["args"] == {"detail": "data: fault", "source": "h0", "destination": "h1", "qp": 17, "psn": 5}


def test_counters_come_back_to_zero_and_repeat_nothing(tmp_path: Path) -> None:
    track = queue_track([(1, 500), (2, 500), (5, 700)])
    _, events = written(measured((track,)), tmp_path)
    points = [(e["ts"], e["args"]["bytes"]) for e in events if e["ph"] == "C"]
    assert points == [(1, 500), (3, 0), (5, 700), (6, 0)]


def test_throughput_is_in_gigabits_a_second(tmp_path: Path) -> None:
    _, events = written(measured((queue_track([(0, 12_500)], series.SENT_BYTES),)), tmp_path)
    assert [e["args"] for e in events if e["ph"] == "C"] == [{"Gb/s": 100}, {"Gb/s": 0}]


def test_too_many_points_are_joined_and_the_series_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(timeline_counters, "MOST_POINTS", 3)
    track = queue_track([(number, 1) for number in range(10)])
    text, _ = written(measured((track,)), tmp_path)
    assert json.loads(text)["otherData"]["counter_interval_ps"] == 4_000_000
    assert len(track.intervals) == 10


def test_what_is_left_out_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(timeline, "MOST_MESSAGES", 1)
    monkeypatch.setattr(timeline, "MOST_WAITS", 1)
    text, _ = written(measured(), tmp_path)
    assert json.loads(text)["otherData"]["left_out"] == {"waits": 1, "messages": 3, "events": 0, "pauses": 0}
    assert trace_events.problems(text) == []


def test_pauses_that_are_left_out_are_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run = lossless_examples.storm()
    assert run.pauses is not None
    pauses = tuple(PauseRecord(10 * n, 10 * n + 5, "h0-eth0", "leaf0-eth1", 3, 0, "h0-eth0", 0) for n in range(5))
    monkeypatch.setattr(timeline, "MOST_WAITS", 2)
    text, events = written(replace(run, pauses=replace(run.pauses, pauses=pauses)), tmp_path)
    assert json.loads(text)["otherData"]["left_out"]["pauses"] == 3
    assert sum(event["name"].startswith("paused by") for event in events) == 2


def test_hosts_come_before_switches(tmp_path: Path) -> None:
    _, events = written(measured(), tmp_path)
    names = [e["args"]["name"] for e in events if e["name"] == "process_name"]
    assert names[0] == "h0"
    assert names[16:] == [switch.name for switch in measured().plan.switches]


def test_the_validator_finds_what_is_wrong() -> None:
    drawn = Timeline()
    place = drawn.slice("h0", "rank", "one", 0, 10)
    drawn.arrow(place, 5, place, 4)
    drawn.events.append({"ph": "X", "name": "two", "pid": 1, "tid": place.track, "ts": 5e-6, "dur": 10e-6})
    drawn.events.append({"ph": "C", "name": "queue", "pid": 9, "tid": 0, "ts": 0, "args": {"bytes": "1"}})
    found = " ".join(trace_events.problems(json.dumps({"displayTimeUnit": "ns", "traceEvents": drawn.events})))
    for expected in ("goes back in time", "overlaps", "counter", "process without a name: 9"):
        assert expected in found
