"""How an exception is told: from the application's first frame on, and its place."""

import pytest

from controllers.failures import report


def _bug() -> None:
    raise ValueError("no route")


def _caught() -> ValueError:
    try:
        _bug()
    except ValueError as error:
        return error
    raise AssertionError


def _line(offset: int) -> int:
    return _bug.__code__.co_firstlineno + offset


def test_place_is_the_innermost_frame_of_the_application(capsys: pytest.CaptureFixture[str]) -> None:
    assert report(_caught(), __file__).endswith(f"test_failures.py:{_line(1)}: ValueError: no route")
    assert capsys.readouterr().err.count("File ") == 2


def test_frames_outside_the_application_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {"bug": _bug}
    exec(compile("def handler():\n    bug()\n", "/elsewhere/app.py", "exec"), names)
    with pytest.raises(ValueError, match="no route") as caught:
        names["handler"]()  # type: ignore[operator] # made by exec
    assert report(caught.value, "/elsewhere/app.py") == "/elsewhere/app.py:2: ValueError: no route"
    shown = capsys.readouterr().err
    assert "test_frames_outside" not in shown
    assert "in _bug" in shown


def test_unknown_file_shows_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert report(_caught(), None).endswith(f"test_failures.py:{_line(1)}: ValueError: no route")
    assert capsys.readouterr().err.count("File ") == 2


def test_syntax_error_has_its_own_place() -> None:
    with pytest.raises(SyntaxError) as caught:
        compile("x = (\n", "/elsewhere/app.py", "exec")
    assert report(caught.value, "/elsewhere/app.py").startswith("/elsewhere/app.py:1: SyntaxError: ")
