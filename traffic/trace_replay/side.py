"""An algorithm's view of one collective of a trace, whose ranks, steps, channels and positions count on their own."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from traffic.collectives.endpoint import Endpoint
from traffic.collectives.together import Together
from traffic.results import COMPUTE
from traffic.trace_replay.memory import Nothing
from traffic.trace_replay.script import Call


class CallSide:
    """One rank's side of a collective; see `traffic.collectives.algorithm.Side`. `rank` counts within the call."""

    __slots__ = ("_call", "_endpoint", "_memory", "rank")

    def __init__(self, call: Call, rank: int, endpoint: Endpoint, memory: Nothing) -> None:
        self.rank = rank
        self._call = call
        self._endpoint = endpoint
        self._memory = memory

    def data(self, offset: int) -> int:
        assert self._call.layout is not None
        return self._call.offset + self._call.layout.data(0) + offset

    def input(self, offset: int) -> int:
        assert self._call.layout is not None
        return self._call.offset + self._call.layout.input(0) + offset

    def scratch(self, offset: int) -> int:
        assert self._call.layout is not None
        return self._call.offset + self._call.layout.scratch(0) + offset

    def send(self, peer: int, step: int, piece: int, *, source: int, target: int, size: int, channel: int = 0) -> None:
        call = self._call
        self._endpoint.send(
            call.ranks[peer],
            call.first_step + step,
            piece,
            source_offset=source,
            target_offset=target,
            size_bytes=size,
            channel=call.channel + channel,
        )

    async def receive(self, peer: int, step: int, piece: int, channel: int = 0) -> None:
        call = self._call
        await self._endpoint.receive(call.ranks[peer], call.first_step + step, piece, call.channel + channel)

    def add(self, target: int, source: int, size: int) -> None:
        self._memory.add(self._call.ranks[self.rank], target, source, size)

    def copy(self, target: int, source: int, size: int) -> None:
        self._memory.copy(self._call.ranks[self.rank], target, source, size)

    async def compute(self, duration_ps: int) -> None:
        if duration_ps:
            await self._endpoint.sleep(duration_ps, COMPUTE)

    async def together(self, *branches: Coroutine[Any, Any, None]) -> None:
        if branches:
            await Together(*branches)
