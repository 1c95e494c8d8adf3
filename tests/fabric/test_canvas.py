"""Lines that join, text over lines, and the ASCII form."""

from testbed.fabric.canvas import Canvas, to_ascii


def test_lines_join_in_the_right_corners() -> None:
    canvas = Canvas()
    canvas.box(0, 0, 5, "ab")
    canvas.vertical(2, 0, 2)
    canvas.horizontal(1, 0, 4)
    assert canvas.lines() == ["┌─┬─┐", "├ab─┤", "└─┴─┘"]


def test_a_bridge_crosses_without_touching() -> None:
    canvas = Canvas()
    canvas.horizontal(1, 0, 4)
    canvas.vertical(2, 0, 2)
    assert canvas.lines()[1] == "──┼──"
    canvas.bridge(1, 2)
    assert canvas.lines()[1] == "──│──"


def test_nothing_is_drawn_of_no_length() -> None:
    canvas = Canvas()
    canvas.horizontal(0, 3, 3)
    canvas.vertical(1, 2, 2)
    assert canvas.lines() == []


def test_ascii_keeps_every_column() -> None:
    picture = "┌─┬─┐\n│ab·│\n└─┴─┘"
    assert to_ascii(picture) == "+-+-+\n|ab-|\n+-+-+"
