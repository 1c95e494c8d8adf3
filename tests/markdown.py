"""What the tests of the documents read in a Markdown file: its blocks of code, links, code spans and headings."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("scenarios/*.md")])

_FENCED = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]+\]\((?P<target>[^)\s]+)\)")
_SPAN = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True)
class Block:
    """A fenced block: the words behind its opening fence, its text, and the line of the file that it begins in."""

    file: Path
    line: int
    info: tuple[str, ...]
    text: str

    @property
    def language(self) -> str:
        return self.info[0] if self.info else ""

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT).as_posix()}:{self.line}"


def blocks(file: Path) -> list[Block]:
    """Return all fenced blocks of `file`, in order."""
    source = file.read_text("utf-8")
    found = _FENCED.finditer(source)
    return [
        Block(file, source.count("\n", 0, match.start()) + 1, tuple(match["info"].split()), match["text"])
        for match in found
    ]


def prose(file: Path) -> str:
    """Return the text of `file` without its fenced blocks."""
    return _FENCED.sub("", file.read_text("utf-8"))


def links(file: Path) -> list[str]:
    """Return the targets of all links in the prose of `file`."""
    return [match["target"] for match in _LINK.finditer(_SPAN.sub("", prose(file)))] + [
        match["target"] for match in re.finditer(r"\[`[^`]+`\]\((?P<target>[^)\s]+)\)", prose(file))
    ]


def spans(file: Path) -> list[str]:
    """Return all code spans in the prose of `file`."""
    return _SPAN.findall(prose(file))


def anchors(file: Path) -> Iterator[str]:
    """Yield the anchor of each heading, as GitHub makes it: small letters, no punctuation, hyphens for spaces."""
    for heading in re.findall(r"^#+ (.+)$", prose(file), flags=re.MULTILINE):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
