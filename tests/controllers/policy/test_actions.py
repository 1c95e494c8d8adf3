"""Actions refuse wrong values where they are made, and come through JSON unchanged."""

import json
import re
from typing import Any

import pytest

from controllers.openflow import FlowMod, Output
from controllers.policy.actions import (
    AddFlow,
    AddGroup,
    DeleteFlow,
    DeleteGroup,
    EngineAction,
    PacketOut,
    SendPause,
    SetEcn,
    SetLossless,
    SetMeter,
    SetPfc,
    as_json,
    from_json,
)

PORT = "leaf0-eth1"


@pytest.mark.parametrize(
    "action",
    [
        SetEcn(PORT, 3, 10, 20, 0.5),
        SetLossless(PORT, 3, False),
        SetPfc(PORT, 3, 0.25),
        SetMeter(PORT, None, 10**9, 1000, remark=8),
        SetMeter(PORT, 26, None),
    ],
)
def test_there_and_back(action: EngineAction) -> None:
    assert from_json(json.loads(json.dumps(as_json(action)))) == action


@pytest.mark.parametrize(
    ("kind", "values", "text"),
    [
        (SetEcn, (PORT, 8, 1, 2, 0.5), "expected a priority from 0 to 7, found 8"),
        (SetEcn, (PORT, 3, 2, 1, 0.5), "expected kmin of at most kmax, found 2 and 1"),
        (SetEcn, (PORT, 3, -1, 1, 0.5), "expected kmin as a whole number of bytes, found -1"),
        (SetEcn, (PORT, 3, 1, 2.5, 0.5), "expected kmax as a whole number of bytes, found 2.5"),
        (SetEcn, (PORT, 3, 1, 2, 1.5), "expected pmax from 0 to 1, found 1.5"),
        (SetLossless, (PORT, 3, "no"), "expected lossless to be True or False, found 'no'"),
        (SetPfc, (PORT, 3, 0), "expected alpha above 0 and at most 128, found 0"),
        (SetMeter, (PORT, 64, 10, 10), "expected dscp from 0 to 63, found 64"),
        (SetMeter, (PORT, 26, 0, 10), "expected a rate above 0 in bit/s, found 0"),
        (SendPause, (PORT, 3, 65536), "expected quanta from 0 to 65535, found 65536"),
        (AddFlow, ("leaf0", 5), "expected a FlowMod(...), found 5"),
        (AddFlow, ("leaf0", FlowMod(-1, (), ())), "expected a flow's priority from 0 to 65535, found -1"),
        (AddFlow, ("leaf0", FlowMod(1, (), (Output(1 << 32),))), "expected an OpenFlow port from 0 to 4294967295"),
        (AddFlow, ("leaf0", FlowMod(1, (), (7,))), "expected an action of a flow such as Output(1), found 7"),  # type: ignore[arg-type]
        (DeleteFlow, ("leaf0", "high", ()), "expected a flow's priority from 0 to 65535, found 'high'"),
        (AddGroup, ("leaf0", "abc"), "expected a SelectGroup(...), found 'abc'"),
        (DeleteGroup, ("leaf0", -1), "expected a group from 0 to 4294967295, found -1"),
        (PacketOut, (PORT, "abc"), "expected an Ethernet frame as bytes, 14 or more, found 'abc'"),
    ],
)
def test_a_wrong_value_is_refused(kind: Any, values: tuple[Any, ...], text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        kind(*values)
