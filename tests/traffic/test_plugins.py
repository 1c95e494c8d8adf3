from typing import get_args

import pytest

from testbed.errors import ScenarioError
from testbed.scenario.congestion import CongestionOptions
from traffic.nic.congestion import congestion_controls
from traffic.nic.recovery import loss_recoveries
from traffic.nic.recovery.go_back_n import GoBackN
from traffic.plugins import Registry


def test_plug_ins_are_found_by_name_without_a_list() -> None:
    assert loss_recoveries["go-back-n"] is GoBackN
    assert "go-back-n" in loss_recoveries.names()


def test_every_congestion_control_has_a_section_and_every_section_one() -> None:
    sections = get_args(get_args(CongestionOptions)[0])
    kinds = {str(get_args(section.model_fields["kind"].annotation)[0]) for section in sections}
    assert set(congestion_controls.names()) == kinds == {"none", "dcqcn", "dctcp"}
    assert all(congestion_controls[name].kind == name for name in kinds)


def test_unknown_name_with_a_near_one() -> None:
    with pytest.raises(ScenarioError, match=r"^no loss recovery 'go-back-m'; did you mean 'go-back-n'\?$"):
        loss_recoveries["go-back-m"]


def test_unknown_name_without_a_near_one() -> None:
    with pytest.raises(ScenarioError, match=r"^no loss recovery 'xyz'; there are: go-back-n$"):
        loss_recoveries["xyz"]


def test_a_name_is_taken_once() -> None:
    registry: Registry[int] = Registry("number", "traffic.nic.recovery")
    registry.register("one")(1)
    with pytest.raises(ValueError, match=r"^there are two plug-ins for number 'one'$"):
        registry.register("one")(2)
