"""A sheet of text on which lines join by themselves: where a horizontal meets a vertical, the right corner appears."""

from __future__ import annotations

NORTH, EAST, SOUTH, WEST = 1, 2, 4, 8

_LINES = {
    NORTH: "│", SOUTH: "│", NORTH | SOUTH: "│",
    EAST: "─", WEST: "─", EAST | WEST: "─",
    SOUTH | EAST: "┌", SOUTH | WEST: "┐", NORTH | EAST: "└", NORTH | WEST: "┘",
    EAST | WEST | SOUTH: "┬", EAST | WEST | NORTH: "┴", NORTH | SOUTH | EAST: "├", NORTH | SOUTH | WEST: "┤",
    NORTH | EAST | SOUTH | WEST: "┼",
}  # fmt: skip

_TO_ASCII = str.maketrans(
    {
        **dict.fromkeys(_LINES.values(), "+"),
        "│": "|",
        "─": "-",
        "·": "-",
    }
)

UNICODE_CHARACTERS = "".join(sorted({*_LINES.values(), "·"}))
"""All that a picture holds beyond ASCII: an output that can encode these can show it."""


def to_ascii(picture: str) -> str:
    """Return the picture with every box-drawing character replaced by one of ``+ - |``."""
    return picture.translate(_TO_ASCII)


class Canvas:
    """Rows and columns from 0. A cell holds a character, or the directions in which lines leave it."""

    def __init__(self) -> None:
        self._lines: dict[tuple[int, int], int] = {}
        self._text: dict[tuple[int, int], str] = {}

    def horizontal(self, row: int, left: int, right: int) -> None:
        """Draw a line in `row` between two columns; none if they are one."""
        for column in range(left, right):
            self._join(row, column, EAST)
            self._join(row, column + 1, WEST)

    def vertical(self, column: int, top: int, bottom: int) -> None:
        """Draw a line in `column` between two rows; none if they are one."""
        for row in range(top, bottom):
            self._join(row, column, SOUTH)
            self._join(row + 1, column, NORTH)

    def bridge(self, row: int, column: int) -> None:
        """Let the vertical through this cell cross the horizontal without touching it."""
        self._lines[row, column] = NORTH | SOUTH

    def box(self, row: int, left: int, width: int, label: str) -> None:
        """Draw a box three rows high with `label` in its middle."""
        right = left + width - 1
        for edge in (row, row + 2):
            self.horizontal(edge, left, right)
        for side in (left, right):
            self.vertical(side, row, row + 2)
        self.text(row + 1, left + (width - len(label)) // 2, label)

    def text(self, row: int, column: int, text: str) -> None:
        """Write `text` over whatever is there."""
        for offset, character in enumerate(text):
            self._text[row, column + offset] = character

    def lines(self) -> list[str]:
        """Return the rows from 0 to the last used one, without blanks at their ends."""
        cells = {place: _LINES[mask] for place, mask in self._lines.items()} | self._text
        rows = max((row for row, _ in cells), default=-1) + 1
        columns = max((column for _, column in cells), default=-1) + 1
        return ["".join(cells.get((row, column), " ") for column in range(columns)).rstrip() for row in range(rows)]

    def _join(self, row: int, column: int, direction: int) -> None:
        self._lines[row, column] = self._lines.get((row, column), 0) | direction
