"""Broken scenarios and the exact text about each: ``tests/errors/NN-name.yaml`` with ``.txt``, one mistake a file.

Lines ``# --set PATH=VALUE`` at the top of a file are overrides. ``pytest tests/scenario/test_errors.py
--update-golden`` rewrites the texts.
"""

from pathlib import Path

import pytest

from testbed.errors import ScenarioError
from testbed.scenario.load import load_scenario
from tests.conftest import GoldenCheck

ERRORS = Path(__file__).parents[1] / "errors"
CASES = sorted(file.stem for file in ERRORS.glob("*.yaml"))


def overrides_of(file: Path) -> list[str]:
    prefix = "# --set "
    return [line.removeprefix(prefix) for line in file.read_text("utf-8").split("\n") if line.startswith(prefix)]


@pytest.mark.parametrize("case", CASES)
def test_message(case: str, golden: GoldenCheck, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ERRORS)
    file = Path(f"{case}.yaml")
    with pytest.raises(ScenarioError) as caught:
        load_scenario(file, overrides_of(file))
    golden(ERRORS / f"{case}.txt", f"{caught.value}\n")


@pytest.mark.parametrize("case", [case for case in CASES if "many" not in case and "another-kind" not in case])
def test_one_mistake_is_one_line(case: str) -> None:
    assert len((ERRORS / f"{case}.txt").read_text("utf-8").splitlines()) == 1


def test_every_text_has_its_scenario() -> None:
    assert sorted(file.stem for file in ERRORS.glob("*.txt")) == CASES


def test_no_word_of_the_validator_gets_through() -> None:
    texts = "".join(file.read_text("utf-8") for file in ERRORS.glob("*.txt"))
    for word in ("Input should", "valid dictionary", "Field required", "Value error", "pydantic", "ScalarNode"):
        assert word not in texts
