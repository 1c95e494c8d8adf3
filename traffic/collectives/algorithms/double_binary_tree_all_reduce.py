"""Double binary tree All-Reduce: two trees, each of which sums up and spreads one half of the data.

In a tree, each piece goes up from the leaves, every rank adding what its children send, and when the root has the sum,
it goes down the same way. Pieces follow each other, so the time is that of some 2 log2 n pieces more than the data
takes: for many ranks far less than the 2 (n - 1) steps of a ring. In one tree a rank that is no leaf would send and
receive more than a leaf; so there are two trees, such that the leaves of one are not the leaves of the other:

* The first tree has the ranks in order. Rank 0 is the root; of any other, b is the lowest bit that is set. Its children
  are rank - b / 2 and rank + b / 2 (or, where that is none, + b / 4 and so on); its parent is the rank without b and
  with 2 b or, where that is none, without b. So odd ranks are leaves.
* The second one is the first with the ranks mirrored (rank r stands where n - 1 - r does) for even n, and moved on by
  one for odd n. For even n each rank is a leaf of exactly one tree; for odd n each but rank 0, which is a leaf of
  neither.

Over both trees the ranks send 2 S (n - 1) bytes together. Each tree has a channel, and on it one branch of the program
for the way up and one for the way down, so that pieces go down while others still come up. What a child sends arrives
in its place of the scratch, one for each child; what the parent sends, in its place of the data.

References: P. Sanders, J. Speck and J. L. Traff, Two-tree algorithms for full bandwidth broadcast, reduction and scan,
2009; the trees are those of NCCL (ncclGetBtree and ncclGetDtree in src/graph/trees.cc).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from testbed.scenario.limits import ELEMENT_BYTES
from traffic.collectives.algorithm import Algorithm, Connection, Piece, Side
from traffic.collectives.algorithms import algorithms

TREES = 2


@dataclass(frozen=True, slots=True)
class Node:
    """A rank's place in a tree: its parent (None: it is the root) and its children, at most two."""

    parent: int | None
    children: tuple[int, ...]


def binary_tree(rank: int, ranks: int) -> Node:
    """Return the place of a rank in the first tree."""
    if rank == 0:
        highest = 1 << (ranks - 1).bit_length() - 1 if ranks > 1 else 0
        return Node(None, (highest,) if highest else ())
    bit = rank & -rank
    parent = (rank ^ bit) | bit << 1
    if parent >= ranks:
        parent = rank ^ bit
    below = bit >> 1
    if not below:
        return Node(parent, ())
    children = [rank - below]
    while below and rank + below >= ranks:
        below >>= 1
    if below:
        children.append(rank + below)
    return Node(parent, tuple(children))


def second_tree(rank: int, ranks: int) -> Node:
    """Return the place of a rank in the second tree: mirrored if there is an even number of ranks, or else moved on."""

    def moved(other: int) -> int:
        return ranks - 1 - other if ranks % 2 == 0 else (other + 1) % ranks

    node = binary_tree(ranks - 1 - rank if ranks % 2 == 0 else (rank - 1) % ranks, ranks)
    return Node(None if node.parent is None else moved(node.parent), tuple(map(moved, node.children)))


@algorithms.register("all-reduce/double-binary-tree")
class DoubleBinaryTreeAllReduce(Algorithm):
    """Two trees, each with half the data."""

    def node(self, rank: int, tree: int) -> Node:
        """Return the place of a rank in one of the trees."""
        return (binary_tree, second_tree)[tree](rank, self.shape.ranks)

    @property
    def steps(self) -> int:
        """Up and down in each tree."""
        return 2 * TREES

    def phase(self, step: int) -> str:
        return "broadcast" if step % 2 else "reduce"

    def connections(self) -> Iterator[Connection]:
        for tree in range(TREES):
            for rank in range(self.shape.ranks):
                node = self.node(rank, tree)
                if node.parent is not None:
                    yield Connection(rank, node.parent, tree)
                yield from (Connection(rank, child, tree) for child in node.children)

    @property
    def scratch_elements(self) -> int:
        """For each of two children, a place for all that it sends."""
        return 2 * self.shape.elements

    @property
    def longest_run(self) -> int:
        return self.shape.part(0, TREES)[1]

    async def run(self, side: Side) -> None:
        nodes = [self.node(side.rank, tree) for tree in range(TREES)]
        ways = (way(side, node, tree) for tree, node in enumerate(nodes) for way in (self._up, self._down))
        await side.together(*ways)

    def _pieces(self, tree: int) -> Iterator[Piece]:
        return self.shape.pieces(*self.shape.part(tree, TREES))

    async def _up(self, side: Side, node: Node, tree: int) -> None:
        """Add what the children send, and send it to the parent; the root sends the sum down."""
        step = 2 * tree
        for piece in self._pieces(tree):
            for number, child in enumerate(node.children):
                await side.receive(child, step, piece.number, tree)
                side.add(side.data(piece.offset), side.scratch(self._place(number, piece)), piece.size)
            if node.parent is None:
                self._spread(side, node, tree, piece)
            else:
                number = self.node(node.parent, tree).children.index(side.rank)
                source, target = side.data(piece.offset), side.scratch(self._place(number, piece))
                side.send(node.parent, step, piece.number, source=source, target=target, size=piece.size, channel=tree)

    async def _down(self, side: Side, node: Node, tree: int) -> None:
        """Send the sum that comes from the parent to the children."""
        if node.parent is None:
            return
        for piece in self._pieces(tree):
            await side.receive(node.parent, 2 * tree + 1, piece.number, tree)
            self._spread(side, node, tree, piece)

    def _spread(self, side: Side, node: Node, tree: int, piece: Piece) -> None:
        place, step = side.data(piece.offset), 2 * tree + 1
        for child in node.children:
            side.send(child, step, piece.number, source=place, target=place, size=piece.size, channel=tree)

    def _place(self, child: int, piece: Piece) -> int:
        """Where in the scratch a piece of the first or second child goes."""
        return child * self.shape.elements * ELEMENT_BYTES + piece.offset

    # --- closed forms -------------------------------------------------------------------------------------------------

    def _sends(self, rank: int) -> Iterator[tuple[int, int]]:
        """How often the rank sends each tree's half, and its elements."""
        for tree in range(TREES):
            node = self.node(rank, tree)
            yield (node.parent is not None) + len(node.children), self.shape.part(tree, TREES)[1]

    def messages(self, rank: int) -> int:
        """In each tree one for the parent and one for each child, for every piece."""
        return sum(times * self.shape.piece_count(elements) for times, elements in self._sends(rank))

    def sent_bytes(self, rank: int) -> int:
        """S / 2 up, and S / 2 for each child, in each tree."""
        return sum(times * elements for times, elements in self._sends(rank)) * ELEMENT_BYTES
