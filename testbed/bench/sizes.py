"""The sizes of a benchmark, written as nccl-tests' ``-b``, ``-e``, ``-f`` and ``-i`` take them, in one text.

    1M:64M:2     from 1 MiB to 64 MiB, each twice the one before (the factor may be left out: 2)
    1M:8M:+1M    from 1 MiB to 8 MiB, each 1 MiB more
    64K,1M,16M   these; an item may be a range

K, M and G are binary, as nccl-tests has them, and KiB, MiB and GiB the same.
"""

import re
from collections.abc import Iterator

from testbed.errors import ScenarioError
from testbed.scenario.limits import ELEMENT_BYTES

MOST_SIZES = 1000
"""A range of more than this is a slip of the pen."""

_SCALES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}
_SIZE = re.compile(r"(\d+)(?:([KMG])(?:i?B)?|B)?", re.IGNORECASE | re.ASCII)
_EXAMPLES = "for example 1M:64M:2, 1M:8M:+1M or 64K,1M,16M"


def parse_sizes(text: str) -> tuple[int, ...]:
    """Return the sizes in bytes that `text` stands for, in its order.

    Raises ScenarioError for what is no such text, and for sizes that are not whole float32 elements.
    """
    sizes: list[int] = []
    for item in text.split(","):
        for size in _range(item.strip(), text):
            if size == 0 or size % ELEMENT_BYTES:
                raise _wrong(text, f"expected sizes of whole float32 elements ({ELEMENT_BYTES} bytes), found {size}")
            sizes.append(size)
            if len(sizes) > MOST_SIZES:
                raise _wrong(text, f"expected at most {MOST_SIZES} sizes, found more")
    return tuple(sizes)


def _range(item: str, text: str) -> Iterator[int]:
    """Yield the sizes of ``MIN:MAX:FACTOR``, ``MIN:MAX:+STEP`` or ``SIZE``."""
    first, *rest = item.split(":")
    size = _size(first, text)
    if not rest:
        yield size
        return
    if len(rest) > 2:
        raise _wrong(text, f"expected MIN:MAX:FACTOR, found {item!r}")
    last = _size(rest[0], text)
    if last < size:
        raise _wrong(text, f"expected the smallest size first, found {item!r}")
    factor, step = _growth(rest[1] if len(rest) == 2 else "2", text)
    while size <= last:
        yield size
        size = size * factor + step


def _growth(growth: str, text: str) -> tuple[int, int]:
    """Return by what a size is multiplied, and what is added, to get the next one."""
    if growth.startswith("+"):
        step = _size(growth[1:], text)
        if step:
            return 1, step
    elif growth.isascii() and growth.isdigit() and int(growth) > 1:
        return int(growth), 0
    raise _wrong(text, f"expected a factor of 2 or more, or +STEP, found {growth!r}")


def _size(size: str, text: str) -> int:
    match = _SIZE.fullmatch(size.strip())
    if match is None:
        raise _wrong(text, f"expected a size in bytes, or with K, M or G, found {size!r}")
    return int(match[1]) * _SCALES[(match[2] or "").upper()]


def _wrong(text: str, problem: str) -> ScenarioError:
    return ScenarioError(f"--sizes {text}: {problem}; {_EXAMPLES}")
