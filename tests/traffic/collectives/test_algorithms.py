"""The algorithms as schedules: closed forms, shapes, and the contracts that the contention-free bound relies on."""

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.scenario.limits import ELEMENT_BYTES
from traffic.collectives.algorithm import Algorithm, Shape
from traffic.collectives.algorithms import algorithms
from traffic.collectives.algorithms.binomial_tree_broadcast import BinomialTreeBroadcast
from traffic.collectives.algorithms.bruck_all_gather import arcs, doublings
from traffic.collectives.algorithms.double_binary_tree_all_reduce import binary_tree, second_tree
from traffic.collectives.algorithms.halving_doubling_all_reduce import HalvingDoublingAllReduce
from traffic.collectives.rehearsal import rehearse

NAMES = algorithms.names()


def made(name: str, ranks: int, elements: int, piece: int, local: int = 1) -> Algorithm | None:
    """An algorithm; None where it refuses."""
    kind = name.partition("/")[0]
    row = tuple(elements // ranks + (rank < elements % ranks) for rank in range(ranks))
    shape = Shape(
        kind,
        ranks,
        elements,
        piece,
        hosts=tuple(rank // local for rank in range(ranks)),
        root=ranks // 2 if kind == "broadcast" else 0,
        microbatches=3 if kind == "send-recv" else 1,
        counts=(row,) * ranks if kind.startswith("all-to-all") else (),
    )
    return None if algorithms[name].refusal(shape) else algorithms[name](shape)


@given(
    name=st.sampled_from(NAMES),
    ranks=st.integers(2, 17),
    elements=st.integers(1, 400),
    piece=st.integers(1, 60),
    local=st.integers(1, 4),
)
def test_every_algorithm_keeps_its_promises(name: str, ranks: int, elements: int, piece: int, local: int) -> None:
    algorithm = made(name, ranks, elements, piece, local)
    if algorithm is None:
        return
    parts = [rehearse(algorithm, rank) for rank in range(ranks)]
    connections = list(algorithm.connections())
    assert len(set(connections)) == len(connections)
    sent, received = defaultdict(list), defaultdict(list)
    for rank, part in enumerate(parts):
        assert len(part.sends) == algorithm.messages(rank)
        assert sum(message.size for message in part.sends) == algorithm.sent_bytes(rank)
        for message in part.sends:
            assert 0 <= message.step < algorithm.steps
            assert algorithm.phase(message.step)
            assert 0 < message.size <= piece * ELEMENT_BYTES
            sent[rank, message.peer, message.channel].append((message.step, message.piece))
        for peer, channel, step, number in part.receives:
            received[peer, rank, channel].append((step, number))
    # Every message is received, in the order in which it is sent; and only there is a connection.
    assert sent == received
    assert set(sent) <= {tuple(connection) for connection in connections}
    assert all(len(set(messages)) == len(messages) for messages in sent.values())


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("all-reduce/")])
@pytest.mark.parametrize("ranks", [2, 4, 8, 16])
def test_all_reduces_send_as_little_as_can_be(name: str, ranks: int) -> None:
    """2 S (n - 1) bytes over all ranks: n - 1 numbers have to be added to, and n - 1 told, each element."""
    elements = ranks * 60
    algorithm = made(name, ranks, elements, elements)
    assert algorithm is not None
    total = sum(algorithm.sent_bytes(rank) for rank in range(ranks))
    assert total == 2 * elements * ELEMENT_BYTES * (ranks - 1)


# --- double binary tree ----------------------------------------------------------------------------------------------


@given(st.integers(2, 300))
def test_both_trees_span_all_ranks_and_are_shallow(ranks: int) -> None:
    for tree in (binary_tree, second_tree):
        nodes = [tree(rank, ranks) for rank in range(ranks)]
        (root,) = [rank for rank, node in enumerate(nodes) if node.parent is None]
        seen, level, depth = {root}, [root], 0
        while level:
            level = [child for rank in level for child in nodes[rank].children]
            depth += bool(level)
            assert not seen & set(level)
            seen |= set(level)
        assert seen == set(range(ranks))
        assert depth <= (ranks - 1).bit_length()  # ceil(log2 n)
        for rank, node in enumerate(nodes):
            assert len(node.children) <= 2
            assert all(nodes[child].parent == rank for child in node.children)


@given(st.integers(2, 300))
def test_each_rank_is_a_leaf_of_exactly_one_tree(ranks: int) -> None:
    """But for rank 0 of an odd number, which is a leaf of neither."""
    for rank in range(ranks):
        leaves = [not tree(rank, ranks).children for tree in (binary_tree, second_tree)]
        assert leaves.count(True) == (0 if rank == 0 and ranks % 2 else 1), rank


def test_the_trees_of_eight() -> None:
    first = {rank: binary_tree(rank, 8) for rank in range(8)}
    assert {rank: node.children for rank, node in first.items() if node.children} == {
        0: (4,),
        4: (2, 6),
        2: (1, 3),
        6: (5, 7),
    }
    second = {rank: second_tree(rank, 8) for rank in range(8)}
    assert {rank: node.children for rank, node in second.items() if node.children} == {
        7: (3,),
        3: (5, 1),
        5: (6, 4),
        1: (2, 0),
    }


def test_with_an_odd_number_of_ranks_the_second_tree_is_moved_on() -> None:
    first, second = ([tree(rank, 5).children for rank in range(5)] for tree in (binary_tree, second_tree))
    assert first == [(4,), (), (1, 3), (), (2,)]
    assert second == [(3,), (0,), (), (2, 4), ()]


# --- halving and doubling ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ranks", "steps"), [(2, 2), (8, 6), (16, 8), (3, 4), (6, 6), (9, 8)])
def test_steps_of_halving_and_doubling(ranks: int, steps: int) -> None:
    algorithm = made("all-reduce/halving-doubling", ranks, 64, 64)
    assert algorithm is not None
    assert algorithm.steps == steps


@given(ranks=st.integers(2, 40), elements=st.integers(1, 300))
def test_halves_are_the_whole_range_of_the_step_before(ranks: int, elements: int) -> None:
    algorithm = HalvingDoublingAllReduce(Shape("all-reduce", ranks, elements, elements))
    for place in range(algorithm.power):
        start, length = 0, elements
        for step in range(algorithm.halvings):
            (kept, size), (given_away, rest) = algorithm.halves(place, step)
            assert min(kept, given_away) == start
            assert size + rest == length
            peer = place ^ algorithm.power >> (step + 1)
            assert algorithm.halves(peer, step) == ((given_away, rest), (kept, size))
            start, length = kept, size
        assert (start, length) == algorithm.shape.part(place, algorithm.power)


# --- in log2 n steps -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["reduce-scatter/bruck", "all-gather/bruck", "broadcast/binomial-tree"])
@given(ranks=st.integers(2, 70))
def test_steps_are_as_many_as_the_doublings_that_reach_all_ranks(name: str, ranks: int) -> None:
    algorithm = made(name, ranks, 10 * ranks, 1000)
    assert algorithm is not None
    assert 2 ** (algorithm.steps - 1) < ranks <= 2**algorithm.steps
    used = {message.step for rank in range(ranks) for message in rehearse(algorithm, rank).sends}
    assert used == set(range(algorithm.steps))


@pytest.mark.parametrize("name", ["reduce-scatter/bruck", "all-gather/bruck"])
@given(ranks=st.integers(2, 40), share=st.integers(1, 20))
def test_bruck_sends_as_much_as_the_ring(name: str, ranks: int, share: int) -> None:
    """S (n - 1) / n, in at most two messages a step."""
    algorithm = made(name, ranks, ranks * share, ranks * share)
    assert algorithm is not None
    for rank in range(ranks):
        assert algorithm.sent_bytes(rank) == share * (ranks - 1) * ELEMENT_BYTES
        assert algorithm.steps <= algorithm.messages(rank) <= 2 * algorithm.steps


@given(ranks=st.integers(2, 70))
def test_doublings_bring_every_part_once(ranks: int) -> None:
    there = [{rank} for rank in range(ranks)]
    for distance, parts in doublings(ranks):
        coming = [{(rank + distance + part) % ranks for part in range(parts)} for rank in range(ranks)]
        for rank in range(ranks):
            assert coming[rank] <= there[(rank + distance) % ranks]
            assert not coming[rank] & there[rank]
        there = [old | new for old, new in zip(there, coming, strict=True)]
    assert there == [set(range(ranks))] * ranks


@given(data=st.data(), ranks=st.integers(2, 20), elements=st.integers(1, 60))
def test_arcs_are_the_parts_around_the_end(data: st.DataObject, ranks: int, elements: int) -> None:
    first, parts = data.draw(st.integers(0, 2 * ranks)), data.draw(st.integers(0, ranks))
    shape = Shape("all-gather", ranks, elements, elements)
    runs = [shape.part((first + part) % ranks) for part in range(parts)]
    found = list(arcs(shape, first, parts))
    assert len(found) <= 2
    assert [at for start, size in found for at in range(start, start + size)] == [
        at for start, size in runs for at in range(start, start + size)
    ]


@given(data=st.data(), ranks=st.integers(2, 70))
def test_a_binomial_tree_spans_all_ranks_and_its_root_has_the_most_children(data: st.DataObject, ranks: int) -> None:
    root = data.draw(st.integers(0, ranks - 1))
    tree = BinomialTreeBroadcast(Shape("broadcast", ranks, 8, 8, root=root))
    seen, level = {root}, [root]
    assert tree.parent(root) is None
    assert len(tree.children(root)) == tree.steps == max(len(tree.children(rank)) for rank in range(ranks))
    for _ in range(tree.steps):
        below = [(rank, child) for rank in level for child in tree.children(rank)]
        assert all(tree.parent(child) == rank for rank, child in below)
        level = [child for _, child in below]
        assert not seen & set(level)
        seen |= set(level)
    assert seen == set(range(ranks))


def test_the_binomial_tree_of_eight() -> None:
    tree = BinomialTreeBroadcast(Shape("broadcast", 8, 8, 8))
    children = {rank: tree.children(rank) for rank in range(8) if tree.children(rank)}
    assert children == {0: (4, 2, 1), 2: (3,), 4: (6, 5), 6: (7,)}


# --- hierarchical ----------------------------------------------------------------------------------------------------


@given(hosts=st.integers(1, 6), local=st.integers(1, 8), share=st.integers(1, 9))
def test_between_hosts_goes_a_share_of_the_ring(hosts: int, local: int, share: int) -> None:
    """2 (S / g) (m - 1) / m bytes a rank between hosts, to the same local rank; 2 (S / g) (g - 1) within."""
    ranks = hosts * local
    if ranks < 2:
        return
    algorithm = made("all-reduce/hierarchical", ranks, ranks * share, 1000, local)
    assert algorithm is not None
    for rank in range(ranks):
        sends = rehearse(algorithm, rank).sends
        outside = [message for message in sends if message.peer // local != rank // local]
        assert {message.peer % local for message in outside} <= {rank % local}
        assert sum(message.size for message in outside) == 2 * (hosts - 1) * share * ELEMENT_BYTES
        inside = sum(message.size for message in sends) - sum(message.size for message in outside)
        assert inside == 2 * (local - 1) * hosts * share * ELEMENT_BYTES
