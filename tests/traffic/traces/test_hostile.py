"""Whatever is in a file, reading it ends in a trace or in an error with a place: never in anything else, never huge."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.traffic.traces.make_traces import TRACES, ChakraRank, goal_schedule, param_rank
from traffic.traces.load import load_trace
from traffic.traces.places import TraceError
from traffic.traces.survey import survey

SEEDS = {
    "t.0.et": (TRACES / "moe/moe.0.et").read_bytes(),
    "t.0.json": json.dumps(param_rank(0)).encode(),
    "t.goal": "\n".join(goal_schedule()).encode(),
}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(sorted(SEEDS)), data=st.data())
def test_changed_bytes(tmp_path: Path, name: str, data: st.DataObject) -> None:
    content = bytearray(SEEDS[name])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
    file = tmp_path / name
    file.write_bytes(bytes(content))
    try:
        survey(load_trace([file]))
    except TraceError as error:
        assert str(error).startswith(str(file))  # noqa: PT017 - most files are no error


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=300), suffix=st.sampled_from([".et", ".json", ".goal"]))
def test_any_bytes(tmp_path: Path, content: bytes, suffix: str) -> None:
    file = tmp_path / f"t.0{suffix}"
    file.write_bytes(content)
    try:
        survey(load_trace([file]))
    except TraceError as error:
        assert str(error).startswith(str(file))  # noqa: PT017 - some files are no error


@pytest.mark.parametrize("name", ["t.0.et.gz", "t.0.json.gz", "t.goal.gz"])
def test_a_bomb_takes_little_memory(tmp_path: Path, name: str) -> None:
    """400 MB of zeros or spaces in 400 kB: refused at its limit, or at the first byte that cannot be."""
    begin = {"t.0.et.gz": b"\x00", "t.0.json.gz": b'{"schema":"1.1.0","nodes":[', "t.goal.gz": b"num_ranks 2\n"}[name]
    filler = (b"\xff" if name == "t.0.et.gz" else b" ") * 4_000_000
    with gzip.open(tmp_path / name, "wb", compresslevel=9) as stream:
        stream.write(begin)
        for _ in range(100):
            stream.write(filler)
    tracemalloc.start()
    try:
        with pytest.raises(TraceError):
            load_trace([tmp_path])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 600_000_000


def test_a_chain_of_many_nodes_needs_no_stack(tmp_path: Path) -> None:
    rank = ChakraRank()
    last = rank.compute("0", 1)
    data = bytearray(rank.data)
    for _ in range(20_000):
        rank.data = b""
        last = rank.compute("n", 1, last)
        data += rank.data
    (tmp_path / "t.0.et").write_bytes(bytes(data))
    assert survey(load_trace([tmp_path])).critical_path_ps == 20_001 * 1_000_000
