import pytest

from testbed.shell.line import Answer, Line, Request


def test_requests_and_answers_cross_the_line() -> None:
    shell, engine = Line.pair()
    shell.send(Request(("queue", "leaf0-eth1"), 120, colour=True))
    shell.send(Request(()))
    assert engine.requests() == [Request(("queue", "leaf0-eth1"), 120, colour=True), Request(())]
    engine.send(Answer("one\ntwo\n"))
    engine.send(Answer("no\n", failed=True))
    assert shell.answer() == Answer("one\ntwo\n")
    assert shell.answer() == Answer("no\n", failed=True)


def test_answers_to_others_are_thrown_away() -> None:
    shell, engine = Line.pair()
    engine.send(Answer("given up\n", failed=True, number=6))
    engine.send(Answer("", number=7))
    assert shell.answer(7) == Answer("", number=7)


def test_a_request_that_comes_in_halves() -> None:
    shell, engine = Line.pair()
    text = b'{"words": ["status"], "columns": 80, "colour": false}\n'
    shell._connection.sendall(text[:20])
    assert engine.requests() == []
    shell._connection.sendall(text[20:])
    assert engine.requests() == [Request(("status",))]


def test_both_ends_notice_when_the_other_is_gone() -> None:
    shell, engine = Line.pair()
    shell.close()
    assert engine.requests() is None
    shell, engine = Line.pair()
    engine.close()
    with pytest.raises(EOFError):
        shell.answer()
