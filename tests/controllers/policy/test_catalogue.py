"""Policies by name and by file: near names, files that hold none or several, and the example of docs/policies.md."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from controllers.policy import SetEcn
from controllers.policy.catalogue import app_names, builtin_policy, policy_class, policy_names
from controllers.policy.options import options_of, read_options, summary_of
from testbed.errors import ScenarioError
from tests.controllers.policies.kit import acts, plan_of, port, queue, seen

MANUAL = (Path(__file__).parents[3] / "docs" / "policies.md").read_text("utf-8")


@pytest.fixture(autouse=True)
def forget_modules() -> Iterator[None]:
    """Files that a test loads are forgotten after it, so that names may be used again."""
    before, path = set(sys.modules), list(sys.path)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]
    sys.path[:] = path


def write(folder: Path, text: str) -> str:
    file = folder / "my_policy.py"
    file.write_text(text)
    return str(file)


@pytest.mark.parametrize("name", policy_names())
def test_every_policy_explains_itself_and_its_options(name: str) -> None:
    policy = builtin_policy(name)
    assert summary_of(policy).endswith(".")
    assert all(option.help.endswith(".") and not option.required for option in options_of(policy))
    values, mistakes = read_options(policy, name, {})
    assert mistakes == []
    assert policy(**values) == policy()
    assert f"`{name}`" in MANUAL


def test_names() -> None:
    assert "adaptive-ecn" in policy_names()
    assert app_names() == ("l3-ecmp",)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("adaptiv-ecn", "no policy 'adaptiv-ecn'; did you mean 'adaptive-ecn'? (or give the path of a .py file)"),
        ("routing", f"no policy 'routing'; there are {', '.join(policy_names())} (or give the path of a .py file)"),
        ("my_policy.py", "policy my_policy.py: no such file"),
    ],
)
def test_a_name_that_is_none(name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ScenarioError) as caught:
        policy_class(name)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("body", "found"),
    [("", "none"), ("class A(Policy): ...\nclass B(Policy): ...\n", "A, B")],
)
def test_a_file_holds_one_policy(body: str, found: str, tmp_path: Path) -> None:
    name = write(tmp_path, f"from controllers.policy import Policy\n{body}")
    with pytest.raises(
        ScenarioError, match=f"expected one class derived from controllers.policy.Policy, found {found}$"
    ):
        policy_class(name)


def test_a_file_may_build_on_another_policy(tmp_path: Path) -> None:
    name = write(tmp_path, "from controllers.policies.static import Static\nclass Mine(Static):\n    kmin: int = 7\n")
    policy, source = policy_class(name)
    assert policy.__name__ == "Mine"
    assert source == name
    assert policy().kmin == 7  # type: ignore[attr-defined] # the user's own


def test_a_type_that_is_not_imported_is_named(tmp_path: Path) -> None:
    name = write(tmp_path, "from controllers.policy import Policy\nclass Mine(Policy):\n    kmin: 'Size' = 7\n")
    with pytest.raises(ScenarioError, match="the type of an option of Mine is not known: name 'Size' is not defined"):
        policy_class(name)


def test_the_manuals_policy_in_twenty_lines(tmp_path: Path) -> None:
    (text,) = re.findall(r"```python\n(.*?)```", MANUAL, flags=re.DOTALL)
    assert len(text.splitlines()) <= 22
    policy, _ = policy_class(write(tmp_path, text))
    values, mistakes = read_options(policy, "my_policy.py", {"early": "10KB"})
    assert mistakes == []
    plan, made = plan_of(), policy(**values)
    ports = [port(plan, "leaf0-eth1", sent=0.95), port(plan, "leaf0-eth2", queue(kmin_bytes=200_000), sent=0.5)]
    assert acts(made.on_interval(seen(*ports))) == [SetEcn("leaf0-eth1", 3, 10_000, 40_000, 0.5)]
