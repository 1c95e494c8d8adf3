"""The tables of README.md, which `run.py --write` replaces: marked blocks with everything that a figure needs.

<!-- reference: begin, written by benchmarks/run.py --write -->
...
<!-- reference: end -->
"""

import re
from collections.abc import Mapping
from pathlib import Path

from benchmarks.figures import Result
from benchmarks.machine import Machine

README = Path(__file__).with_name("README.md")

_BLOCK = re.compile(
    r"<!-- (?P<name>[\w-]+): begin, written by benchmarks/run\.py --write -->\n(?P<body>.*?)<!-- (?P=name): end -->",
    re.DOTALL,
)


def blocks(text: str) -> dict[str, str]:
    """Return the body of each marked block by name. Raises ValueError when one is there twice or has no end."""
    found = [(match["name"], match["body"]) for match in _BLOCK.finditer(text)]
    names = [name for name, _ in found]
    marks = len(re.findall(r"<!-- [\w-]+: (?:begin, written by|end)", text))
    if len(set(names)) != len(names) or marks != 2 * len(names):
        raise ValueError(f"README.md: expected every block once, with begin and end; found {', '.join(names)}")
    return dict(found)


def replaced(text: str, bodies: Mapping[str, str]) -> str:
    """Return `text` with the blocks named in `bodies` replaced. Raises ValueError for a block that is not there."""
    missing = set(bodies) - set(blocks(text))
    if missing:
        raise ValueError(f"README.md: expected a marked block for {', '.join(sorted(missing))}, found none")

    def new(match: re.Match[str]) -> str:
        body = bodies.get(match["name"])
        return match[0] if body is None else match[0].replace(match["body"], body)

    return _BLOCK.sub(new, text)


def body_of(result: Result, machine: Machine, command: str) -> str:
    """Return a block's body: tables, notes, the machine and the command."""
    parts = [*(table.markdown() for table in result.tables), *result.notes, f"{machine.text()}.", f"`{command}`"]
    return "\n" + "\n\n".join(parts) + "\n\n"


def write(bodies: Mapping[str, str], path: Path = README) -> None:
    """Replace the blocks named in `bodies` in the README."""
    path.write_text(replaced(path.read_text(encoding="utf-8"), bodies), encoding="utf-8")
