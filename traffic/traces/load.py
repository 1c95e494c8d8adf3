"""Reads a trace from files or directories: finds out what each file is by its content, and puts the ranks together.

    a Chakra trace           one binary file a rank, name.0.et, and perhaps a JSON file of communicator groups
    a PyTorch / PARAM trace  one JSON file a rank
    a GOAL schedule          one text file with all ranks

Each may be packed with gzip. Where there is a file a rank, the last number in its name is the rank.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from traffic.traces.chakra.reader import Groups, groups_of, read_chakra
from traffic.traces.goal import read_goal
from traffic.traces.limits import MAXIMUM_JSON_BYTES, MAXIMUM_NODES, MAXIMUM_RANKS
from traffic.traces.model import ALL_RANKS, Collective, RankTrace, Trace
from traffic.traces.param import is_execution_trace, read_param
from traffic.traces.places import TraceError, mistake, shorten

CHAKRA, PARAM, GOAL = "Chakra", "PyTorch/PARAM", "GOAL"
_GROUPS = "communicator groups"
_HEAD_BYTES = 4096
_GZIP = b"\x1f\x8b"
_EXPECTED = "expected a trace: Chakra (.et, protobuf), a PyTorch execution trace (JSON), or GOAL (text with num_ranks)"
_SUFFIXES = {".et", ".json", ".goal", ".gz", ".txt"}


def load_trace(paths: Sequence[Path]) -> Trace:
    """Return the trace in `paths`: files, or directories, whose traces are all taken.

    Raises TraceError (file, place, expected, found) when a file cannot be read, or the files are no one trace.
    """
    files = _files(paths)
    formats = {file: _format(file) for file in files}
    kinds = {kind for kind in formats.values() if kind != _GROUPS}
    if len(kinds) > 1:
        first = {kind: next(file for file, each in formats.items() if each == kind) for kind in sorted(kinds)}
        named = " and ".join(f"{kind} ({file})" for kind, file in first.items())
        raise TraceError(f"{files[0]}: expected files of one format, found {named}")
    traces = [file for file, kind in formats.items() if kind != _GROUPS]
    if not traces:
        raise mistake(str(files[0]), None, "expected a trace beside the communicator groups, found none")
    (kind,) = kinds
    groups: Groups = {}
    for file in files:
        if formats[file] == _GROUPS:
            groups.update(groups_of(_json(file), str(file)))
    if kind == GOAL:
        return _goal(traces)
    return _by_rank(kind, traces, groups, files)


def _files(paths: Iterable[Path]) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            found = [each for each in path.iterdir() if each.is_file() and each.suffix in _SUFFIXES]
            if not found:
                raise mistake(str(path), None, "expected a directory with traces (.et, .json, .goal), found none in it")
            files += sorted(found, key=lambda each: (_rank_in(each), each.name))
        elif path.is_file():
            files.append(path)
        else:
            raise mistake(str(path), None, "expected a trace or a directory of traces, found nothing there")
    return list(dict.fromkeys(files))


def _open(file: Path) -> BinaryIO:
    """Open a file, unpacked."""
    try:
        stream = file.open("rb")
        packed = stream.read(2) == _GZIP
        stream.seek(0)
    except OSError as error:
        raise mistake(str(file), None, f"cannot be read: {error.strerror}") from error
    return _Unpacked(stream, str(file)) if packed else stream


class _Unpacked(io.BufferedReader):
    """A file unpacked from gzip; a broken one is reported as such."""

    def __init__(self, stream: BinaryIO, file: str) -> None:
        super().__init__(_Checked(stream, file))


class _Checked(io.RawIOBase):
    def __init__(self, stream: BinaryIO, file: str) -> None:
        self._gzip = gzip.GzipFile(fileobj=stream)
        self._stream = stream
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._gzip.read(len(buffer))
        except (OSError, EOFError, zlib.error) as error:
            raise mistake(
                self._file, f"byte {self._gzip.tell()}", f"cannot be unpacked any further: {error}"
            ) from error
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._stream.close()
        super().close()


def _format(file: Path) -> str:
    """Return what a file is, by its beginning."""
    with _open(file) as stream:
        head = stream.read(_HEAD_BYTES)
    if not _is_text(head):
        return CHAKRA
    text = head.decode("utf-8", "ignore").lstrip("\ufeff \t\r\n")
    if re.match(r"[{\[]\s*[\"{}\[\]]", text):
        return PARAM if re.search(r'"(schema|nodes)"\s*:', text) or is_execution_trace(_json(file)) else _GROUPS
    if re.match(r"(//[^\n]*\n|/\*([^*]|\*(?!/))*\*/|\s)*num_ranks\b", text):
        return GOAL
    if file.suffix == ".et":
        return CHAKRA  # a length and a text may look like text as a whole
    raise mistake(str(file), None, f"{_EXPECTED}, found {shorten(text, 30) if text else 'an empty file'}")


def _is_text(head: bytes) -> bool:
    """Whether a file begins as text does: UTF-8 (but for a letter that the end cuts) and no control characters."""
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 3:
            return False
    return not any(byte < 32 and byte not in b"\t\r\n\f" for byte in head)


def _json(file: Path) -> Any:
    with _open(file) as stream:
        data = stream.read(MAXIMUM_JSON_BYTES + 1)
    if len(data) > MAXIMUM_JSON_BYTES:
        raise mistake(str(file), None, f"expected at most {MAXIMUM_JSON_BYTES} bytes of JSON, found more")
    try:
        return json.loads(data)
    except json.JSONDecodeError as error:
        raise mistake(
            str(file), f"{error.lineno}:{error.colno}", f"expected JSON, found {error.msg.lower()}"
        ) from error
    except RecursionError:
        raise mistake(str(file), None, "expected JSON, found lists or mappings in each other without end") from None
    except ValueError as error:
        raise mistake(str(file), None, f"expected JSON in UTF-8, found {error}") from error


def _goal(files: Sequence[Path]) -> Trace:
    if len(files) > 1:
        raise mistake(str(files[1]), None, f"expected one GOAL schedule, which has all ranks, found {len(files)} files")
    with _open(files[0]) as stream, io.TextIOWrapper(stream, "utf-8", "replace") as text:
        ranks = read_goal(text, str(files[0]))
    return Trace(GOAL, (str(files[0]),), ranks, {})


def _by_rank(kind: str, files: Sequence[Path], groups: Groups, all_files: Sequence[Path]) -> Trace:
    ranks = []
    nodes = 0
    for rank, file in enumerate(_in_order(files)):
        if kind == CHAKRA:
            with _open(file) as stream:
                read, defined = read_chakra(stream, str(file), rank)
        else:
            read, defined = read_param(_json(file), str(file), rank)
        _agree(groups, defined, str(file))
        ranks.append(read)
        nodes += len(read.nodes)
        if nodes > MAXIMUM_NODES:
            raise mistake(str(file), None, f"expected at most {MAXIMUM_NODES} nodes in all files, found more")
    inferred = _inferred(ranks, groups)
    trace = Trace(
        kind, tuple(str(file) for file in all_files), tuple(ranks), {**groups, **inferred}, tuple(sorted(inferred))
    )
    return _whole_buffers(trace, ("all-gather", "gather") if kind == CHAKRA else ("gather",))


def _whole_buffers(trace: Trace, kinds: tuple[str, ...]) -> Trace:
    """Return the trace with gathers counted as nccl-tests does, by the whole: of `kinds` the file has what each rank
    brings in."""
    ranks = []
    sizes = {name: len(members) for name, members in trace.groups.items()} | {ALL_RANKS: len(trace.ranks)}
    for rank in trace.ranks:
        nodes = []
        for node in rank.nodes:
            work = node.work
            if isinstance(work, Collective) and work.kind in kinds:
                node = replace(node, work=replace(work, size_bytes=work.size_bytes * sizes[work.group]))
            nodes.append(node)
        ranks.append(replace(rank, nodes=tuple(nodes)))
    return replace(trace, ranks=tuple(ranks))


def _agree(groups: Groups, defined: Groups, file: str) -> None:
    for name, ranks in defined.items():
        if groups.setdefault(name, ranks) != ranks:
            text = f"expected group {name} to be {list(groups[name])} as before, found {list(ranks)}"
            raise mistake(file, None, text)


def _rank_in(file: Path) -> int:
    numbers = re.findall(r"\d+", re.sub(r"\.(et|json|gz|goal|txt)\b", "", file.name))
    return int(numbers[-1][:9]) if numbers else -1


def _in_order(files: Sequence[Path]) -> list[Path]:
    """Return the files by rank; one file alone is rank 0, whatever its name."""
    if len(files) > MAXIMUM_RANKS:
        raise mistake(str(files[0]), None, f"expected at most {MAXIMUM_RANKS} ranks, found {len(files)} files")
    if len(files) == 1:
        return list(files)
    ordered = sorted(files, key=_rank_in)
    for rank, file in enumerate(ordered):
        if _rank_in(file) != rank:
            found = f"{_rank_in(file)}" if _rank_in(file) >= 0 else "no number"
            text = f"expected a file for each rank from 0 on, its number the last in its name; for rank {rank}, found "
            raise mistake(str(file), None, text + found)
    return ordered


def _inferred(ranks: Sequence[RankTrace], groups: Groups) -> Groups:
    """Return the groups that are used and not defined: each has the ranks that use it.

    Process group 0 is that of all ranks where nothing else is said, as simulators take it.
    """
    users: dict[str, dict[int, None]] = {}
    for trace in ranks:
        for node in trace.nodes:
            if isinstance(node.work, Collective) and node.work.group not in groups and node.work.group != ALL_RANKS:
                users.setdefault(node.work.group, {})[trace.rank] = None
    everyone = tuple(range(len(ranks)))
    return {name: everyone if name == "0" else tuple(of) for name, of in sorted(users.items())}
