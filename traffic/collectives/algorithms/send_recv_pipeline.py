"""A pipeline of send and receive: M microbatches go from rank to rank, each a stage that works on them.

Stage r receives a microbatch from stage r - 1, adds its own numbers to it (as a layer of a model would change it),
computes for a while, and sends it to stage r + 1, while the next one is on its way. The first M + n - 1 times a stage's
share fill and drain the pipeline (the bubble is n - 1 of them). Every stage but the last sends S bytes. A microbatch
arrives in its place in the scratch; microbatch m is part m of M of the data, and step m.

References: Y. Huang et al., GPipe: Efficient Training of Giant Neural Networks using Pipeline Parallelism, 2019.
"""

from collections.abc import Iterator

from testbed.scenario.limits import ELEMENT_BYTES
from traffic.collectives.algorithm import Algorithm, Connection, Side
from traffic.collectives.algorithms import algorithms


@algorithms.register("send-recv/pipeline")
class SendRecvPipeline(Algorithm):
    """Stages in the order of the ranks."""

    @property
    def steps(self) -> int:
        """M: one for each microbatch."""
        return self.shape.microbatches

    def phase(self, step: int) -> str:  # noqa: ARG002 - there is but one
        return "pipeline"

    def connections(self) -> Iterator[Connection]:
        return (Connection(rank, rank + 1) for rank in range(self.shape.ranks - 1))

    @property
    def scratch_elements(self) -> int:
        return self.shape.elements

    @property
    def longest_run(self) -> int:
        return self.shape.part(0, self.shape.microbatches)[1]

    async def run(self, side: Side) -> None:
        shape, rank = self.shape, side.rank
        for microbatch in range(shape.microbatches):
            pieces = list(shape.pieces(*shape.part(microbatch, shape.microbatches)))
            for piece in pieces if rank > 0 else ():
                await side.receive(rank - 1, microbatch, piece.number)
                side.add(side.data(piece.offset), side.scratch(piece.offset), piece.size)
            await side.compute(shape.microbatch_ps)
            for piece in pieces if rank < shape.ranks - 1 else ():
                source, target = side.data(piece.offset), side.scratch(piece.offset)
                side.send(rank + 1, microbatch, piece.number, source=source, target=target, size=piece.size)

    def _sent(self, rank: int) -> Iterator[int]:
        """The elements of each microbatch that the rank sends."""
        shape = self.shape
        last = rank == shape.ranks - 1
        return (shape.part(number, shape.microbatches)[1] for number in range(0 if last else shape.microbatches))

    def messages(self, rank: int) -> int:
        """M microbatches, ceil(microbatch / piece) messages each; none from the last stage."""
        return sum(map(self.shape.piece_count, self._sent(rank)))

    def sent_bytes(self, rank: int) -> int:
        """S; nothing from the last stage."""
        return sum(self._sent(rank)) * ELEMENT_BYTES
