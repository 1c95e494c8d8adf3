"""What all tests share: the flag that rewrites golden files, and the profile of property tests."""

from collections.abc import Callable
from pathlib import Path

import pytest

GoldenCheck = Callable[[Path, str], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite the golden files with what is found; review the diff"
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> GoldenCheck:
    """Compare a text with the golden file at a path, or rewrite the file under ``--update-golden``."""
    update = bool(request.config.getoption("--update-golden"))

    def check(path: Path, text: str) -> None:
        if update:
            path.write_text(text, encoding="utf-8")
        expected = path.read_text(encoding="utf-8") if path.exists() else "(no golden file; run with --update-golden)\n"
        assert text == expected

    return check
