"""``rocelab policies``, and the options of ``rocelab run`` that choose a policy or an application."""

import json

import pytest

from controllers.policy.catalogue import policy_names
from testbed.cli.run import choices
from tests.cli.test_check import run


def test_each_policy_with_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("policies") == 0
    lines = capsys.readouterr().out.splitlines()
    heads = [line.split("  ")[0] for line in lines if line and not line.startswith(" ")]
    assert tuple(heads) == policy_names()
    assert "    kmin: 100kB   where marking starts at first." in lines


def test_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("policies", "--json") == 0
    found = {policy["name"]: policy for policy in json.loads(capsys.readouterr().out)}
    assert tuple(found) == policy_names()
    assert found["openflow-ecn"]["needs"] == ["l3-ecmp", "fabric.qos"]
    (high,) = [option for option in found["openflow-ecn"]["options"] if option["name"] == "high"]
    assert high == {
        "name": "high",
        "type": "a size with its unit (B, kB, MB, GB, KiB, MiB, GiB)",
        "default": "200kB",
        "help": "a port is congested when its queue went beyond this in an interval.",
    }


def test_options_of_run_are_overrides_that_come_first() -> None:
    assert choices(None, None) == []
    assert choices("my policy.py", "app.py") == ['controller.app="app.py"', 'controller.policy={kind: "my policy.py"}']


@pytest.mark.parametrize(
    ("option", "value", "text"),
    [
        ("--policy", "statc", "no policy 'statc'; did you mean 'static'?"),
        ("--controller", "l3-ecm", "no controller application 'l3-ecm'; did you mean 'l3-ecmp'?"),
    ],
)
def test_wrong_names(option: str, value: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", "scenarios/01-ring-all-reduce.yaml", option, value) == 2
    assert text in capsys.readouterr().err
