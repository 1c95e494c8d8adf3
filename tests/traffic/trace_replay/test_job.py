"""Replays of whole traces: data right, times as the graph has it, never faster than without contention."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from testbed.scenario.traces import TraceReplay
from tests.engine.kit import STEADY
from tests.traffic.collectives.kit import Bench, star
from tests.traffic.trace_replay.kit import bench, replayed
from tests.traffic.traces.kit import write_chakra, write_goal, write_param
from tests.traffic.traces.make_traces import TRACES, ChakraRank
from tests.traffic.traces.test_param import execution_trace, node, tensor
from traffic.results import TraceResult, data_wait_ps
from traffic.trace_replay.job import TraceJob
from traffic.traces.chakra.et_def_pb2 import CollectiveCommType as Kind
from traffic.traces.chakra.et_def_pb2 import NodeType

US = 1_000_000


@pytest.mark.parametrize(
    ("name", "ranks"),
    [("data-parallel", 4), ("fsdp", 4), ("moe", 8), ("pipeline", 4), ("param", 4), ("halo.goal", 4)],
)
def test_traces_of_the_scenarios(name: str, ranks: int) -> None:
    result = replayed(TRACES / name, ranks)
    assert result.verified
    assert result.time_ps is not None
    assert result.critical_path_ps <= result.ideal_ps <= result.time_ps
    assert all(node.end_ps is not None for node in result.nodes)


def test_calculations_alone_take_their_critical_path(tmp_path: Path) -> None:
    """Two streams beside each other, each one at a time: 10 + 20 on the one, 25 on the other."""
    file = write_goal(
        tmp_path, "num_ranks 2", "rank 0 {", "calc 10000", "calc 20000", "calc 25000 cpu 1", "}", "rank 1 {", "}"
    )
    result = replayed(file, 2)
    assert result.time_ps == 30 * US
    assert result.compute_ps_by_rank == {"h0": 30 * US, "h1": 0}
    assert result.exposed_ps_by_rank == {"h0": 0, "h1": 0}


def test_a_message_takes_what_it_takes(tmp_path: Path) -> None:
    """1 us at rank 0, then 4096 bytes in one packet to rank 1: both hops at 100 Gb/s, their delays, the switch."""
    file = write_goal(
        tmp_path, "num_ranks 2", "rank 0 {", "a: calc 1000", "s: send 4096b to 1", "s requires a", "}",
        "rank 1 {", "r: recv 4096b from 0", "}",
    )  # fmt: skip
    result = replayed(file, 2)
    headers = 14 + 20 + 8 + 12 + 16 + 4 + 4 + 4  # Ethernet, IPv4, UDP, BTH, RETH, ImmDt, ICRC; FCS
    frame_bits = (4096 + headers + 20) * 8  # preamble and gap
    hop_ps = frame_bits * 10 + 500_000
    assert result.time_ps == 1 * US + 2 * hop_ps + 800_000
    assert result.time_ps == result.ideal_ps
    assert result.exposed_ps_by_rank["h1"] == result.time_ps


def test_communication_hides_behind_calculation(tmp_path: Path) -> None:
    ranks = [ChakraRank() for _ in range(4)]
    for rank in ranks:
        first = rank.compute("a", 10)
        rank.collective("sum", Kind.ALL_REDUCE, 64 << 10, first)
        rank.compute("b", 500, first)
    result = replayed(write_chakra(tmp_path, *ranks), 4)
    assert result.time_ps == 510 * US
    assert result.exposed_ps_by_rank == dict.fromkeys(result.ranks, 0)


def test_a_straggler_is_waited_for(tmp_path: Path) -> None:
    ranks = [ChakraRank() for _ in range(3)]
    for number, rank in enumerate(ranks):
        rank.collective("sum", Kind.ALL_REDUCE, 4096, rank.compute("a", 100 if number == 2 else 10))
    result = replayed(write_chakra(tmp_path, *ranks), 3)
    assert result.time_ps is not None
    assert result.exposed_ps_by_rank["h0"] == result.time_ps - 10 * US
    assert [(wait.what, wait.start_ps, wait.end_ps) for wait in result.waits if wait.rank == "h0"] == [
        ("compute", 0, 10 * US), ("node 1 (sum)", 10 * US, result.time_ps),
    ]  # fmt: skip
    assert data_wait_ps(result.waits) == sum(result.exposed_ps_by_rank.values())


def test_unknown_nodes_take_no_time_and_keep_their_dependencies(tmp_path: Path) -> None:
    rank, other = ChakraRank(), ChakraRank()
    first = rank.compute("a", 5)
    unknown = rank.node("load", NodeType.STORAGE_NODE, [first])
    rank.compute("b", 7, unknown)
    other.compute("c", 1)
    result = replayed(write_chakra(tmp_path, rank, other), 2)
    assert result.time_ps == 12 * US
    assert result.unknown == {"STORAGE_NODE": 1}


def test_scaling(tmp_path: Path) -> None:
    file = write_goal(
        tmp_path, "num_ranks 2", "rank 0 {", "calc 1000", "send 1000b to 1", "}", "rank 1 {", "recv 1000b from 0", "}"
    )  # fmt: skip
    result = replayed(file, 2, scale={"bytes": 2.5, "compute": 3.0})
    assert result.sent_bytes == 2500
    assert result.compute_ps_by_rank["h0"] == 3 * US
    assert result.critical_path_ps == 3 * US


def test_groups_beside_each_other_do_not_wait(tmp_path: Path) -> None:
    """Two groups of two: the second's slow rank does not hold up the first."""
    ranks = [ChakraRank() for _ in range(4)]
    for number, rank in enumerate(ranks):
        group = "1" if number < 2 else "2"
        rank.collective("sum", Kind.ALL_REDUCE, 4096, rank.compute("a", 900 if number == 3 else 1), group=group)
    result = replayed(write_chakra(tmp_path, *ranks), 4)
    ends = {node.rank: node.end_ps for node in result.nodes if node.what == "all-reduce"}
    assert ends["h0"] is not None
    assert ends["h2"] is not None
    assert ends["h0"] < 100 * US < 900 * US < ends["h2"]


def test_opposite_orders_of_groups_do_not_hang(tmp_path: Path) -> None:
    ranks = [ChakraRank() for _ in range(2)]
    for rank, groups in zip(ranks, ("12", "21"), strict=True):
        for group in groups:
            rank.collective(group, Kind.ALL_REDUCE, 4096, group=group)
    assert replayed(write_chakra(tmp_path, *ranks), 2).verified


def test_a_collective_of_one_rank_or_no_bytes_is_nothing(tmp_path: Path) -> None:
    ranks = [ChakraRank() for _ in range(2)]
    ranks[0].collective("alone", Kind.ALL_REDUCE, 4096, group="9")
    for rank in ranks:
        rank.collective("empty", Kind.ALL_REDUCE, 0)
        rank.compute("a", 3)
    result = replayed(write_chakra(tmp_path, *ranks), 2)
    assert (result.time_ps, result.verified) == (3 * US, True)
    assert [(row.algorithm, row.time_ps) for row in result.collectives] == [("none", None), ("none", None)]


@pytest.mark.parametrize("kind", [Kind.BARRIER, Kind.REDUCE, Kind.GATHER, Kind.SCATTER, Kind.BROADCAST])
@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_other_kinds(tmp_path: Path, kind: Kind, ranks: int) -> None:
    built = [ChakraRank() for _ in range(ranks)]
    for rank in built:
        rank.node("c", NodeType.COMM_COLL_NODE, [], comm_type=int(kind), comm_size=40_000, root=1)
    result = replayed(write_chakra(tmp_path, *built), ranks)
    assert result.verified
    assert sum(result.stand_ins.values()) == (kind != Kind.BROADCAST)


def test_uneven_splits(tmp_path: Path) -> None:
    """Three ranks of a PyTorch trace, whose shares differ and are nothing for one: an all-to-all-v."""
    traces = []
    for split in ([1, 2, 3], [4, 0, 2], [2, 2, 2]):
        values = [tensor(6000), 0, ["0", ""], 0, "all_to_allv", split, []]
        traces.append(execution_trace(node(2, values)))
    result = replayed(write_param(tmp_path, *traces), 3)
    assert result.verified
    (row,) = result.collectives
    assert (row.kind, row.algorithm, row.time_ps is not None) == ("all-to-all", "pairwise", True)


def test_messages_of_one_pair_are_told_apart(tmp_path: Path) -> None:
    """Received in another order than sent, and by tags: the bytes are those of the right message."""
    file = write_goal(
        tmp_path, "num_ranks 2", "rank 0 {", "send 5000b to 1 tag 1", "send 7000b to 1 tag 2", "send 0b to 1", "}",
        "rank 1 {", "a: recv 7000b from 0 tag 2", "b: recv 5000b from 0 tag 1", "b requires a", "recv 0b from 0", "}",
    )  # fmt: skip
    result = replayed(file, 2)
    assert (result.verified, result.sends, result.sent_bytes) == (True, 3, 12_000)


def test_placement_and_nvlink(tmp_path: Path) -> None:
    """Four ranks on two hosts: what stays in a host crosses no NIC."""
    ranks = [ChakraRank() for _ in range(4)]
    for rank in ranks:
        rank.collective("sum", Kind.ALL_REDUCE, 40_000)
    files = write_chakra(tmp_path, *ranks)
    made, result = bench(files, star(2, nvlink={}), ranks={"per_host": 2})
    assert result.ranks == ("h0.0", "h0.1", "h1.0", "h1.1")
    assert result.verified
    assert made.total("sent_data_packets") == 2 * 6 * 3  # two of four ring neighbours, 6 steps, 10,000 bytes each


def test_equal_replays_are_equal() -> None:
    assert replayed(TRACES / "moe", 8) == replayed(TRACES / "moe", 8)


def test_iterations_follow_each_other(tmp_path: Path) -> None:
    """Each rank by itself: rank 1, which computes 4 us, does not wait for rank 0, which computes 10."""
    file = write_goal(tmp_path, "num_ranks 2", "rank 0 {", "calc 10000", "}", "rank 1 {", "calc 4000", "}")
    result = replayed(file, 2, iterations=3)
    assert (result.iterations, result.time_ps) == (3, 30 * US)
    assert result.critical_path_ps == 30 * US
    ends = [(node.node, node.end_ps) for node in result.nodes if node.rank == "h1"]
    names = ["line 6", "iteration 1", "line 6@1", "iteration 2", "line 6@2"]
    assert ends == list(zip(names, [4 * US, 4 * US, 8 * US, 8 * US, 12 * US], strict=True))


def test_iterations_of_everything() -> None:
    once, twice = (replayed(TRACES / "fsdp", 4, iterations=number) for number in (1, 2))
    assert twice.verified
    assert once.time_ps is not None
    assert twice.time_ps is not None
    assert twice.time_ps == pytest.approx(2 * once.time_ps, rel=0.01)
    assert [row.count for row in twice.collectives] == [2 * row.count for row in once.collectives]


def test_the_start_is_later(tmp_path: Path) -> None:
    file = write_goal(tmp_path, "num_ranks 1", "rank 0 {", "calc 1000", "}")
    result = replayed(file, 2, start="5us")
    assert (result.start_ps, result.end_ps, result.time_ps) == (5 * US, 6 * US, 1 * US)


def not_early(result: TraceResult) -> bool:
    """Whether no node, and so no rank and no trace, ended before it does without contention."""
    times = [(node.ideal_end_ps, node.end_ps) for node in result.nodes]
    return all(ideal is not None and end is not None and ideal <= end for ideal, end in times)


def rooted(rank: ChakraRank, kind: Kind, root: int, size: int, group: str, *after: int) -> int:
    return rank.node("b", NodeType.COMM_COLL_NODE, after, comm_type=int(kind), comm_size=size, root=root, pg_name=group)


def test_a_member_of_two_groups_is_not_held_up_by_the_order_of_their_ends(tmp_path: Path) -> None:
    """Broadcasts from 1 and from 2 meet in the port to 0. Without contention that from 2, the smaller, ends first; but
    on the fabric 2 sends to three others as well, so that what is from 1 has passed before all that is from 2 has."""
    ranks = [ChakraRank() for _ in range(6)]
    pairs = [(1, 0, 2**18), (2, 0, 3 * 2**16), (2, 3, 2**18), (2, 4, 2**18), (2, 5, 2**18)]
    for group, (root, member, size) in enumerate(pairs, start=1):
        for rank in (root, member):
            rooted(ranks[rank], Kind.BROADCAST, root, size, str(group))
    result = replayed(write_chakra(tmp_path, *ranks), 6)
    assert not_early(result)
    large, small = (node for node in result.nodes if node.rank == "h0")
    assert small.ideal_end_ps is not None
    assert large.ideal_end_ps is not None
    assert large.end_ps is not None
    assert small.end_ps is not None
    assert small.ideal_end_ps < large.ideal_end_ps
    assert large.end_ps < (2**18 + 3 * 2**16) * 80 < small.end_ps


def test_collectives_of_one_group_add_up_in_a_port(tmp_path: Path) -> None:
    """An all-to-all of three ranks, twice at once: each rank's port takes in what two others send, four times."""
    ranks = [ChakraRank() for _ in range(3)]
    for rank in ranks:
        for name in "ab":
            rank.collective(name, Kind.ALL_TO_ALL, 3 * 2**16)
    result = replayed(write_chakra(tmp_path, *ranks), 3)
    assert not_early(result)
    assert result.ideal_ps > 4 * 2**16 * 80  # 80 ps a byte


def test_messages_of_one_pair_do_not_pass_each_other(tmp_path: Path) -> None:
    """The large one is late on the fabric, since rank 2 is kept busy: the small one waits for it, as without contention
    it comes behind it."""
    file = write_goal(
        tmp_path, "num_ranks 4",
        "rank 0 {", "w: calc 50000", "small: send 1000b to 1 tag 1", "small requires w",
        "r: recv 400000b from 2", "large: send 4000000b to 1 tag 2", "large requires r", "}",
        "rank 1 {", "a: recv 1000b from 0 tag 1", "b: recv 4000000b from 0 tag 2", "}",
        "rank 2 {", "send 2000000b to 3", "send 400000b to 0", "}",
        "rank 3 {", "recv 2000000b from 2", "}",
    )  # fmt: skip
    result = replayed(file, 4)
    assert result.verified
    assert not_early(result)
    large, small = (next(node for node in result.nodes if node.node == name) for name in ("large", "small"))
    assert large.ideal_start_ps is not None
    assert large.start_ps is not None
    assert large.ideal_start_ps < 50 * US < large.start_ps == small.start_ps


def test_messages_are_received_in_the_order_in_which_they_come(tmp_path: Path) -> None:
    """The first send of the file comes last: it waits for an answer to the second."""
    file = write_goal(
        tmp_path, "num_ranks 2",
        "rank 0 {", "last: send 10b to 1 tag 1", "send 20b to 1 tag 2", "x: recv 30b from 1", "last requires x", "}",
        "rank 1 {", "recv 10b from 0 tag 1", "b: recv 20b from 0 tag 2", "x: send 30b to 0", "x requires b", "}",
    )  # fmt: skip
    result = replayed(file, 2)
    assert result.verified
    assert not_early(result)


def test_a_root_that_waits_for_nobody_makes_no_critical_path(tmp_path: Path) -> None:
    """Rank 1 has 100 us to do behind the broadcast from rank 0, to which rank 2 comes as late: these do not add up."""
    ranks = [ChakraRank() for _ in range(3)]
    for number, rank in enumerate(ranks):
        before = [rank.compute("slow", 100)] if number == 2 else []
        after = rooted(rank, Kind.BROADCAST, 0, 1000, "", *before)
        if number == 1:
            rank.compute("x", 100, after)
    result = replayed(write_chakra(tmp_path, *ranks), 3)
    assert result.critical_path_ps == 100 * US <= result.ideal_ps < 103 * US


def test_sends_that_come_after_the_start_of_receives_are_no_circle(tmp_path: Path) -> None:
    lines = ["num_ranks 2"]
    for rank in range(2):
        peer = 1 - rank
        lines += [f"rank {rank} {{", f"r: recv 8b from {peer}", f"s: send 8b to {peer}", "s irequires r", "}"]
    result = replayed(write_goal(tmp_path, *lines), 2)
    assert (result.verified, result.sends, result.critical_path_ps) == (True, 2, 0)


_SIZES = st.sampled_from([0, 1, 1000, 20_000, 100_000])
_ROOTED = [Kind.BROADCAST, Kind.REDUCE, Kind.GATHER, Kind.SCATTER]
_KINDS = st.sampled_from(
    [*_ROOTED, Kind.ALL_REDUCE, Kind.ALL_TO_ALL, Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.BARRIER]
)


class AnyTrace:
    """Calculations, messages, and collectives of several groups, in an order that all ranks could keep to; each node
    depends on up to two that its rank has had before."""

    def __init__(self, data: st.DataObject, count: int) -> None:
        self.ranks = [ChakraRank() for _ in range(count)]
        self._data = data
        self._nodes: list[list[int]] = [[] for _ in self.ranks]
        members = st.lists(st.integers(0, count - 1), min_size=2, unique=True)
        self._groups = [sorted(data.draw(members)) for _ in range(data.draw(st.integers(1, 3)))]
        for tag in range(data.draw(st.integers(1, 10))):
            data.draw(st.sampled_from([self._compute, self._collective, self._message]))(tag)

    def _after(self, rank: int) -> list[int]:
        nodes = self._nodes[rank]
        return self._data.draw(st.lists(st.sampled_from(nodes), max_size=2, unique=True)) if nodes else []

    def _add(self, rank: int, node: int) -> None:
        self._nodes[rank].append(node)

    def _compute(self, _tag: int) -> None:
        rank = self._data.draw(st.integers(0, len(self.ranks) - 1))
        self._add(rank, self.ranks[rank].compute("x", self._data.draw(st.integers(0, 30)), *self._after(rank)))

    def _message(self, tag: int) -> None:
        source, destination = self._data.draw(st.permutations(range(len(self.ranks))))[:2]
        size = self._data.draw(_SIZES)
        self._add(source, self.ranks[source].send("s", destination, size, tag, *self._after(source)))
        self._add(destination, self.ranks[destination].receive("r", source, size, tag, *self._after(destination)))

    def _collective(self, _tag: int) -> None:
        number = self._data.draw(st.integers(0, len(self._groups) - 1))
        kind, size, members = self._data.draw(_KINDS), self._data.draw(_SIZES), self._groups[number]
        root = self._data.draw(st.sampled_from(members))
        for rank in members:
            group, after = str(number + 1), self._after(rank)
            if kind in _ROOTED:
                self._add(rank, rooted(self.ranks[rank], kind, root, size, group, *after))
            else:
                self._add(rank, self.ranks[rank].collective("c", kind, size, *after, group=group))


@settings(STEADY, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), count=st.integers(2, 5), queue_pairs=st.sampled_from([1, 1, 3]))
def test_any_graph_is_replayed_and_never_too_fast(
    tmp_path: Path, data: st.DataObject, count: int, queue_pairs: int
) -> None:
    trace = AnyTrace(data, count)
    directory = tmp_path / "any"
    directory.mkdir(exist_ok=True)
    for old in directory.iterdir():
        old.unlink()
    result = replayed(write_chakra(directory, *trace.ranks), count, qps_per_connection=queue_pairs)
    assert result.verified
    assert result.time_ps is not None
    assert result.critical_path_ps <= result.ideal_ps <= result.time_ps
    assert not_early(result)


def test_a_failure_names_a_node_that_was_under_way(tmp_path: Path) -> None:
    file = write_goal(
        tmp_path, "num_ranks 2", "rank 0 {", "s: send 90000b to 1", "}", "rank 1 {", "r: recv 90000b from 0", "}"
    )
    work = TraceReplay.model_validate({"kind": "trace", "files": (str(file),), "name": "exchange"})
    lossy = Bench(star(2), work, timeout=1, retry_count=0)
    lossy.lose("h0-eth0", lambda number: number > 3)
    lossy.run()
    result = lossy.jobs[0].result()
    assert isinstance(result, TraceResult)
    assert result.failure is not None
    assert result.failure.startswith("exchange died at ")
    assert result.failure.endswith("RETRY_EXC_ERR; h1: 1 node left, in node r (recv)")
    assert (result.time_ps, result.verified) == (None, None)


def test_a_wrong_byte_is_found(tmp_path: Path) -> None:
    """Changed at the sender while the message is under way: the receiver gets what was not meant."""
    file = write_goal(
        tmp_path, "num_ranks 2", "rank 0 {", "send 90000b to 1", "}", "rank 1 {", "recv 90000b from 0", "}"
    )
    made = Bench(star(2), TraceReplay.model_validate({"kind": "trace", "files": (str(file),)}))
    (job,) = made.jobs
    assert isinstance(job, TraceJob)
    assert job._numbers is not None
    made.loop.run(1)
    sent = job._numbers.memory(0)
    sent[8_999] ^= 1
    made.run()
    result = job.result()
    assert (result.verified, result.wrong_elements) == (False, 1)
