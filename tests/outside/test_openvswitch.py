"""What Open vSwitch is asked and how its answers are read, where the two datapaths differ."""

import pytest

from testbed.errors import TestbedError
from testbed.outside import openvswitch
from testbed.outside.openvswitch import Lookups, install_fence, lookups

SHOWN = """system@ovs-system:
  lookups: hit:90 missed:12 lost:2
  flows: 7
  port 0: ovs-system (internal)
"""


def answer(monkeypatch: pytest.MonkeyPatch, text: str) -> list[tuple[str, ...]]:
    """Have every tool print `text`; return the list that their calls go into."""
    asked: list[tuple[str, ...]] = []

    def run(*command: str) -> str:
        asked.append(command)
        return text

    monkeypatch.setattr(openvswitch, "_run", run)
    return asked


def test_the_kernel_has_counted_what_it_lost_as_a_miss_before(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, SHOWN)
    assert lookups("kernel") == Lookups(taken=90 + 12, lost=2)


def test_the_userspace_datapath_counts_each_frame_once(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, SHOWN)
    assert lookups("user") == Lookups(taken=90 + 12 + 2, lost=0)


def test_no_lookups_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, "nothing")
    with pytest.raises(TestbedError, match="prints no lookups:\nnothing"):
        lookups()


def test_only_the_kernels_fence_copies_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answer(monkeypatch, "")
    install_fence("leaf0")
    install_fence("leaf0", "kernel")
    assert [command[-1] for command in asked] == [
        "priority=65535,dl_type=0x88b5,actions=in_port",
        "priority=65535,dl_type=0x88b5,actions=move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],in_port",
    ]
