"""Reads a GOAL schedule: text, all ranks in one file.

    num_ranks 2
    rank 0 {
      l1: calc 5000                       nanoseconds
      l2: send 1024b to 1 tag 5 cpu 0 nic 0
      l2 requires l1                      l2 starts when l1 has ended
      l2 irequires l1                     l2 starts when l1 has started
    }

A label may stand before or after what depends on it. ``from -1`` and ``tag -1`` mean any. Operations without a label
have nothing that depends on them. ``cpu`` is the stream that a calculation occupies; ``nic`` is counted, not used: a
rank has one NIC. Comments are ``//`` to the end of the line and ``/* */``.

References: Hoefler, Siebert, Lumsdaine, "Group Operation Assembly Language" (ICPP 2009); the grammar and the unit of
calculations are those of LogGOPSim's txt2bin (spcl/LogGOPSim), as ATLAHS uses it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NoReturn, TextIO

from testbed.units import NANOSECOND
from traffic.traces.draft import RankDraft
from traffic.traces.limits import (
    MAXIMUM_LINE,
    MAXIMUM_NODES,
    MAXIMUM_RANKS,
    MAXIMUM_SIZE_BYTES,
    MAXIMUM_TIME_PS,
)
from traffic.traces.model import Compute, RankTrace, Receive, Send, Work
from traffic.traces.places import mistake, shorten

_TOKEN = re.compile(
    r"\s*(?:(?P<comment>//.*|/\*)|(?P<word>[A-Za-z_][A-Za-z0-9_]*)|(?P<number>-?[0-9]+)|(?P<sign>[{}:]))"
)
_LARGEST_TAG = 2**32


class Line:
    """One line as tokens, each with its column; `expect_*` take one or say what is there instead."""

    def __init__(self, file: str, number: int, tokens: list[tuple[str, int]], length: int) -> None:
        self.number = number
        self._file = file
        self._tokens = tokens
        self._next = 0
        self._length = length

    @property
    def place(self) -> str:
        return f"{self.number}:{self._tokens[0][1]}"

    @property
    def more(self) -> bool:
        return self._next < len(self._tokens)

    def peek(self, ahead: int = 0) -> str:
        position = self._next + ahead
        return self._tokens[position][0] if position < len(self._tokens) else ""

    def take(self) -> str:
        self._next += 1
        return self._tokens[self._next - 1][0]

    def refuse(self, expected: str) -> NoReturn:
        """Say that something else was expected at the next token."""
        column = self._tokens[self._next][1] if self.more else self._length + 1
        found = shorten(self.peek()) if self.more else "the end of the line"
        raise mistake(self._file, f"{self.number}:{column}", f"expected {expected}, found {found}")

    def expect(self, *words: str) -> str:
        if self.peek() not in words:
            self.refuse(" or ".join(repr(word) for word in words))
        return self.take()

    def expect_label(self) -> str:
        if not re.fullmatch(r"[A-Za-z_]\w*", self.peek()):
            self.refuse("a label such as l1")
        return self.take()

    def expect_number(self, what: str, most: int, least: int = 0) -> int:
        token = self.peek()
        if not re.fullmatch(r"-?[0-9]{1,20}", token) or not least <= int(token) <= most:
            self.refuse(f"{what}, a number from {least} to {most}")
        return int(self.take())

    def expect_end(self, *instead: str) -> None:
        if self.more:
            self.refuse(" or ".join([*(repr(word) for word in instead), "the end of the line"]))


def _lines(stream: TextIO, file: str) -> Iterator[Line]:
    """Yield each line that is more than space and comments."""
    in_comment, number = False, 0
    while text := stream.readline(MAXIMUM_LINE + 1):
        number += 1
        if len(text) > MAXIMUM_LINE:
            raise mistake(file, f"{number}:1", f"expected a line of at most {MAXIMUM_LINE} characters, found more")
        tokens, in_comment = _tokens(text.rstrip(), file, number, in_comment)
        if tokens:
            yield Line(file, number, tokens, len(text.rstrip()))


def _tokens(text: str, file: str, number: int, in_comment: bool) -> tuple[list[tuple[str, int]], bool]:
    tokens: list[tuple[str, int]] = []
    at = 0
    while at < len(text):
        if in_comment:
            end = text.find("*/", at)
            if end < 0:
                return tokens, True
            at, in_comment = end + 2, False
            continue
        match = _TOKEN.match(text, at)
        if match is None:
            if not text[at:].strip():
                break
            column = at + len(text[at:]) - len(text[at:].lstrip()) + 1
            found = shorten(text[column - 1 :], 20)
            raise mistake(file, f"{number}:{column}", f"expected a word, a number, '{{', '}}' or ':', found {found}")
        at = match.end()
        if match["comment"] == "/*":
            in_comment = True
        elif match["comment"]:
            break
        else:
            tokens.append((match[match.lastgroup or 0], match.start(match.lastgroup or 0) + 1))
    return tokens, in_comment


class _Reader:
    """Reads one schedule, rank by rank."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._ranks: dict[int, RankTrace] = {}
        self._count: int | None = None
        self._draft: RankDraft | None = None
        self._dependencies: list[tuple[str, str, bool, str]] = []
        self._nodes = 0
        self._last = 1

    def read(self, stream: TextIO) -> tuple[RankTrace, ...]:
        for line in _lines(stream, self._file):
            self._last = line.number
            if self._count is None:
                line.expect("num_ranks")
                self._count = line.expect_number("how many ranks there are", MAXIMUM_RANKS, 1)
                line.expect_end()
            elif self._draft is None:
                self._open(line)
            else:
                self._statement(line, self._draft)
        return self._finished()

    def _open(self, line: Line) -> None:
        assert self._count is not None
        line.expect("rank")
        place = line.place
        rank = line.expect_number("a rank", self._count - 1)
        if rank in self._ranks:
            raise mistake(self._file, place, f"expected rank {rank} once, found it again")
        line.expect("{")
        line.expect_end()
        self._draft = RankDraft(rank, self._file)

    def _statement(self, line: Line, draft: RankDraft) -> None:
        if line.peek() == "}":
            line.take()
            line.expect_end()
            self._close(draft)
        elif line.peek(1) in ("requires", "irequires"):
            self._depend(line)
        else:
            label = line.expect_label() if line.peek(1) == ":" else ""
            if label:
                line.expect(":")
            self._operation(line, draft, label)

    def _depend(self, line: Line) -> None:
        label, verb, place = line.expect_label(), line.take(), line.place
        before = line.expect_label()
        line.expect_end()
        self._dependencies.append((label, before, verb == "irequires", place))
        if len(self._dependencies) > 8 * MAXIMUM_NODES:
            raise mistake(self._file, place, f"expected at most {8 * MAXIMUM_NODES} dependencies, found more")

    def _operation(self, line: Line, draft: RankDraft, label: str) -> None:
        verb = line.peek()
        if verb not in ("calc", "send", "recv"):
            line.refuse("an operation ('calc', 'send', 'recv'), a label or '}'")
        line.take()
        work: Work
        if verb == "calc":
            duration = line.expect_number("a time in ns", MAXIMUM_TIME_PS // NANOSECOND)
            options = self._options(line, draft, "cpu", "nic")
            work = Compute(duration * NANOSECOND, f"cpu {options['cpu']}")
        else:
            work = self._message(line, draft, verb)
        self._nodes += 1
        if self._nodes > MAXIMUM_NODES:
            raise mistake(self._file, line.place, f"expected at most {MAXIMUM_NODES} operations, found more")
        draft.add(label or f"line {line.number}", label and f"{verb}", line.place, work)

    def _message(self, line: Line, draft: RankDraft, verb: str) -> Work:
        assert self._count is not None
        size = line.expect_number("a size in bytes such as 1024b", MAXIMUM_SIZE_BYTES)
        line.expect("b")
        line.expect("to" if verb == "send" else "from")
        peer = line.expect_number("a rank", self._count - 1, 0 if verb == "send" else -1)
        options = self._options(line, draft, "tag", "cpu", "nic")
        if verb == "send":
            return Send(peer, size, max(options["tag"], 0))
        return Receive(None if peer < 0 else peer, size, None if options["tag"] < 0 else options["tag"])

    def _options(self, line: Line, draft: RankDraft, *names: str) -> dict[str, int]:
        values = dict.fromkeys(("tag", "cpu", "nic"), 0)
        while line.more:
            name = line.peek()
            if name not in names:
                line.expect_end(*names)
            line.take()
            values[name] = line.expect_number(f"the number of the {name}", _LARGEST_TAG, -1 if name == "tag" else 0)
        if values["nic"]:
            draft.left_out["operations on a nic above 0, sent by nic 0"] += 1
        return values

    def _close(self, draft: RankDraft) -> None:
        for label, before, start, place in self._dependencies:
            for each in (label, before):
                if each not in draft:
                    raise mistake(self._file, place, f"expected a label of rank {draft.rank}, found {shorten(each)}")
            draft.depend(label, before, place, start=start)
        self._dependencies = []
        self._ranks[draft.rank] = draft.finish()
        self._draft = None

    def _finished(self) -> tuple[RankTrace, ...]:
        end = f"{self._last}:1"
        if self._count is None:
            raise mistake(self._file, "1:1", "expected 'num_ranks', found an empty file")
        if self._draft is not None:
            raise mistake(
                self._file, end, f"expected a '}}' that ends rank {self._draft.rank}, found the end of the file"
            )
        missing = [rank for rank in range(self._count) if rank not in self._ranks]
        if missing:
            raise mistake(self._file, end, f"expected {self._count} ranks, found none with number {missing[0]}")
        return tuple(self._ranks[rank] for rank in range(self._count))


def read_goal(stream: TextIO, file: str) -> tuple[RankTrace, ...]:
    """Return all ranks of a schedule. Raises TraceError with line and column of a mistake."""
    return _Reader(file).read(stream)
