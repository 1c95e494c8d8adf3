"""Which format a file is, and which rank."""

from pathlib import Path

from tests.traffic.traces.kit import refusal, write_chakra, write_goal
from tests.traffic.traces.make_traces import CHAKRA, TRACES, ChakraRank, make
from traffic.traces.load import load_trace


def test_the_traces_of_the_scenarios_are_those_that_are_made(tmp_path: Path) -> None:
    make(tmp_path)
    files = [file for file in TRACES.rglob("*") if file.is_file()]
    kept = {file.relative_to(TRACES): file.read_bytes() for file in files}
    made = {file.relative_to(tmp_path): file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    assert kept == made, "run python -m tests.traffic.traces.make_traces"


def test_formats_are_known_by_content(tmp_path: Path) -> None:
    formats = {name: load_trace([TRACES / name]).format for name in (*CHAKRA, "param", "halo.goal")}
    assert formats == {**dict.fromkeys(CHAKRA, "Chakra"), "param": "PyTorch/PARAM", "halo.goal": "GOAL"}
    misnamed = tmp_path / "x.et"
    misnamed.write_bytes((TRACES / "halo.goal").read_bytes())
    assert load_trace([misnamed]).format == "GOAL"


def test_metadata_as_long_as_a_brace_is_no_json(tmp_path: Path) -> None:
    from tests.traffic.traces.make_traces import frame
    from traffic.traces.chakra.et_def_pb2 import GlobalMetadata

    data = frame(GlobalMetadata(version="x" * 121))
    assert data[:1] == b"{"
    (tmp_path / "t.0.et").write_bytes(data)
    assert load_trace([tmp_path]).format == "Chakra"


def test_ranks_are_the_last_number(tmp_path: Path) -> None:
    for number in range(11):
        rank = ChakraRank()
        rank.compute(f"of {number}", 1)
        (tmp_path / f"gpt3.h100.{number}.et").write_bytes(rank.data)
    assert [rank.nodes[0].name for rank in load_trace([tmp_path]).ranks] == [f"of {number}" for number in range(11)]


def test_a_missing_rank(tmp_path: Path) -> None:
    for number in (0, 2):
        (tmp_path / f"t.{number}.et").write_bytes(ChakraRank().data)
    assert refusal(tmp_path) == (
        "t.2.et: expected a file for each rank from 0 on, its number the last in its name; for rank 1, found 2"
    )


def test_nothing_there(tmp_path: Path) -> None:
    assert refusal(tmp_path / "t.et") == "t.et: expected a trace or a directory of traces, found nothing there"
    assert refusal(tmp_path) == ".: expected a directory with traces (.et, .json, .goal), found none in it"


def test_other_text_is_no_trace(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("hello there")
    expected = (
        "expected a trace: Chakra (.et, protobuf), a PyTorch execution trace (JSON), or GOAL (text with num_ranks)"
    )
    assert refusal(tmp_path / "t.txt") == f"t.txt: {expected}, found 'hello there'"


def test_many_comments_are_looked_through_once(tmp_path: Path) -> None:
    """A pattern that tried every way to divide them into comments would take longer than the universe is old."""
    (tmp_path / "t.txt").write_text("/**/" * 500 + "hello")
    assert refusal(tmp_path / "t.txt").startswith("t.txt: expected a trace: ")
    (tmp_path / "t.txt").write_text("/*/ * **/ // num_ranks 9\n" + "/**/" * 500 + "num_ranks 1 rank 0 {")
    assert refusal(tmp_path / "t.txt") == "t.txt:2:2013: expected the end of the line, found 'rank'"


def test_two_formats(tmp_path: Path) -> None:
    write_chakra(tmp_path, ChakraRank())
    write_goal(tmp_path, "num_ranks 1", "rank 0 {", "}")
    assert "expected files of one format, found Chakra (t.0.et) and GOAL (t.goal)" in refusal(tmp_path)


def test_groups_alone(tmp_path: Path) -> None:
    (tmp_path / "g.json").write_text('{"1": [0, 1]}')
    assert refusal(tmp_path) == "g.json: expected a trace beside the communicator groups, found none"


def test_groups_that_cannot_be(tmp_path: Path) -> None:
    write_chakra(tmp_path, ChakraRank())
    (tmp_path / "g.json").write_text('{"1": [0, 0]}')
    assert refusal(tmp_path) == "g.json: group '1': expected a list of different ranks, found '[0, 0]'"


def test_a_broken_archive(tmp_path: Path) -> None:
    import gzip

    rank = ChakraRank()
    for number in range(2000):
        rank.compute(f"node {number * number}", number)
    packed = gzip.compress(rank.data)
    (tmp_path / "t.0.et.gz").write_bytes(packed[: len(packed) // 2])
    text = refusal(tmp_path)
    assert text.startswith("t.0.et.gz: byte ")
    assert "cannot be unpacked any further: Compressed file ended" in text
