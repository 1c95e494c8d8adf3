"""The completion time of a ring All-Reduce in closed form: what theory says, with no code of the product's models.

The buffer of S bytes is cut into N parts, a part into C equal pieces of p bytes (C = 1: the whole part at once). In
each of 2 (N - 1) steps every rank sends one part to its right neighbour, piece by piece as they came from the left.

**A piece on the wire.** K = ceil(p / MTU) packets, each with Ethernet 14, IP 20 (IPv6: 40), UDP 8, BTH 12 and ICRC 4
bytes, and on the wire 24 more (FCS 4, preamble 8, gap 12). The first has a RETH of 16 bytes too, the last an immediate
value of 4. On the same wires go acknowledgements of what comes the other way around the ring: one for every `ack_every`
packets of a message and one for its last, so A = ceil(K / ack_every) of 14 + IP + 8 + 12 + 4 (AETH) + 4 + 24 bytes.

    w = MTU + 14 + IP + 8 + 12 + 4 + 24 + 16               the largest packet (of one packet alone: + 20)
    O = 8 (p + K (62 + IP) + 20 + A (66 + IP)) / R_min     a piece occupies the slowest link of its way so long

**A piece over a path** of links with rates R_l and delays d_l, and switches with latencies s_i. Packets follow one
another at the slowest link; on each other link only one is not hidden behind that: store and forward.

    T = O + sum over the other links (8 w / R_l) + sum d_l + sum s_i

**The ring.** What a rank receives in a step is what it sends in the next. The piece with the number m = step * C + c
leaves an edge when the piece before it has left (the wire) and the same piece has come over the edge before, one step
earlier (the data):

    F_e(m) = max(F_e(m - 1) + O_e, F_e-1(m - C) + T_e),    F_e(0) = T_e

So the time is the longest way back from m = 2 (N - 1) C - 1 to 0, in which each turn is a step of data (T of that edge)
or a turn of the wire (O). Where all edges are alike the longest way takes only one kind of turn wherever it can:

    time = max(2 (N - 1) T + (C - 1) O,  T + (2 (N - 1) C - 1) O)

Without pieces (C = 1) T is never below O, and the first term is it: 2 (N - 1) T. With edges of different T that is the
worst sum of 2 (N - 1) consecutive edges, twice around the ring less two neighbours: 2 sum T_e - min (T_e + T_e+1); and
an edge with a slow link can be worse still, when all steps' parts queue at it: T_e + (2 (N - 1) - 1) O_e.

References: P. Patarasuk and X. Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009 (the
2 (N - 1) steps); J.-Y. Le Boudec and P. Thiran, Network calculus, 2001 (store and forward of a train of packets).
"""

from collections.abc import Sequence
from dataclasses import dataclass

ON_WIRE_BYTES = 24
RETH_BYTES, IMMEDIATE_BYTES, AETH_BYTES = 16, 4, 4
IP_BYTES = {4: 20, 6: 40}


@dataclass(frozen=True)
class Edge:
    """The way from a rank to its right neighbour: links as (bit/s, delay in ps), and switch latencies in ps."""

    links: tuple[tuple[int, int], ...]
    latencies_ps: tuple[int, ...]


@dataclass(frozen=True)
class Transport:
    """What shapes packets: payload bytes a packet, packets an acknowledgement, IP's version."""

    mtu: int = 4096
    ack_every: int = 16
    ip_version: int = 4


@dataclass(frozen=True)
class Piece:
    """A piece over an edge, in ps: how long it occupies the slowest link (O), and how long it takes in all (T)."""

    occupies_ps: float
    takes_ps: float

    @classmethod
    def over(cls, edge: Edge, piece_bytes: int, transport: Transport) -> "Piece":
        """Return O and T as above."""
        bare = 14 + IP_BYTES[transport.ip_version] + 8 + 12 + 4 + ON_WIRE_BYTES
        packets = -(-piece_bytes // transport.mtu)
        acks = -(-packets // transport.ack_every)
        train = piece_bytes + packets * bare + RETH_BYTES + IMMEDIATE_BYTES + acks * (bare + AETH_BYTES)
        largest = min(piece_bytes + IMMEDIATE_BYTES, transport.mtu) + bare + RETH_BYTES
        rates = [rate for rate, _ in edge.links]
        slowest = min(rates)
        occupies = train * 8e12 / slowest
        others = sum(largest * 8e12 / rate for rate in rates) - largest * 8e12 / slowest
        delays = sum(delay for _, delay in edge.links) + sum(edge.latencies_ps)
        return cls(occupies, occupies + others + delays)


def ring_time_ps(edges: Sequence[Edge], size_bytes: int, transport: Transport, pieces: int = 1) -> float:
    """Return the time of a ring All-Reduce whose rank r sends over ``edges[r]``, in parts of `pieces` equal pieces.

    `size_bytes` must be a multiple of ranks * pieces. Where all edges are alike, and where there is one piece, this is
    one of the closed forms above; for both at once it takes the longest way turn by turn.
    """
    ranks = len(edges)
    piece_bytes, rest = divmod(size_bytes, ranks * pieces)
    assert rest == 0, f"{size_bytes} B are no {pieces} equal pieces for each of {ranks} ranks"
    costs = [Piece.over(edge, piece_bytes, transport) for edge in edges]
    steps = 2 * (ranks - 1)
    if len(set(edges)) == 1:
        occupies, takes = costs[0].occupies_ps, costs[0].takes_ps
        return max(steps * takes + (pieces - 1) * occupies, takes + (steps * pieces - 1) * occupies)
    if pieces == 1:
        times = [cost.takes_ps for cost in costs]
        around = 2 * sum(times) - min(a + b for a, b in zip(times, times[1:] + times[:1], strict=True))
        return max(around, *(cost.takes_ps + (steps - 1) * cost.occupies_ps for cost in costs))
    return longest_way_ps(costs, steps, pieces)


def longest_way_ps(costs: Sequence[Piece], steps: int, pieces: int) -> float:
    """Return the largest F_e(m) of the last piece."""
    ends = [[cost.takes_ps + number * cost.occupies_ps for number in range(pieces)] for cost in costs]
    for _ in range(1, steps):
        later = []
        for edge, cost in enumerate(costs):
            at, mine = ends[edge][-1], []
            for number in range(pieces):
                at = max(at + cost.occupies_ps, ends[edge - 1][number] + cost.takes_ps)
                mine.append(at)
            later.append(mine)
        ends = later
    return max(end[-1] for end in ends)
