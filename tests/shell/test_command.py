import pytest
from rich.text import Text

from testbed.shell.command import Command, CommandError, arguments, commands, fields, one_of, rendered
from testbed.shell.line import Request

COMMAND = Command("try THIS", "tries", lambda _bench, _words: "")


def test_every_command_has_a_usage_that_begins_with_its_name_and_a_help() -> None:
    names = commands.names()
    assert {"collective", "counters", "queue", "policy", "fault", "watch", "link", "capture", "status"} <= set(names)
    for name in names:
        assert commands[name].usage.startswith(name)
        assert commands[name].help


def test_fields_become_the_inside_of_a_mapping() -> None:
    assert fields(["nth=3", "frames=any"]) == ", nth: 3, frames: any"
    assert fields([]) == ""


@pytest.mark.parametrize("word", ["nth", "=3", ""])
def test_a_word_that_is_no_field(word: str) -> None:
    with pytest.raises(CommandError, match="expected name=value"):
        fields([word])


def test_names_that_are_near_are_offered() -> None:
    with pytest.raises(CommandError, match="found 'leaf0-eht1'; did you mean leaf0-eth1"):
        one_of("leaf0-eht1", ["leaf0-eth1", "spine0-eth1"], "a port")
    with pytest.raises(CommandError, match="for example leaf0-eth1"):
        one_of("x", ["leaf0-eth1"], "a port")


def test_too_few_or_too_many_words_show_the_usage() -> None:
    assert arguments(["a"], 1, 2, COMMAND) == ["a"]
    for words in ([], ["a", "b", "c"]):
        with pytest.raises(CommandError, match="usage: try THIS"):
            arguments(words, 1, 2, COMMAND)


def test_text_is_drawn_for_the_users_terminal() -> None:
    long = Text("word " * 10, "bold")
    plain = rendered(long, Request(("x",), columns=20))
    assert all(len(line) <= 20 and line == line.rstrip() for line in plain.splitlines())
    assert "\x1b[" not in plain
    assert "\x1b[1m" in rendered(long, Request(("x",), columns=20, colour=True))
