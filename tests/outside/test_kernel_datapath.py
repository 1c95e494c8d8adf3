"""Whether the kernel has Open vSwitch: what is asked, and what is said where it has not."""

import os
from pathlib import Path

import pytest

from testbed.errors import MachineError
from testbed.outside import kernel_datapath
from testbed.outside.kernel_datapath import (
    ask_for_family,
    kernel_datapath_check,
    on_one_processor,
    require_datapath,
)

NO_FAMILY = "no_such_family"


def test_a_family_that_every_kernel_has() -> None:
    ask_for_family("nlctrl")


def test_a_family_that_no_kernel_has() -> None:
    with pytest.raises(OSError, match="No such file or directory"):
        ask_for_family(NO_FAMILY)


def test_a_family_that_is_there_is_enough(tmp_path: Path) -> None:
    check = kernel_datapath_check("nlctrl", str(tmp_path))
    assert (check.ok, check.required, check.remedy) == (True, False, "")


def test_a_module_that_is_not_loaded(tmp_path: Path) -> None:
    folder = tmp_path / os.uname().release / "kernel" / "net" / "openvswitch"
    folder.mkdir(parents=True)
    (folder / "openvswitch.ko.zst").touch()
    check = kernel_datapath_check(NO_FAMILY, str(tmp_path))
    assert (check.ok, check.required, check.remedy) == (False, False, "sudo modprobe openvswitch")
    assert check.found == (
        "the kernel's module openvswitch is not loaded (generic netlink family no_such_family: No such file or "
        "directory); only --datapath kernel needs it"
    )


def test_a_kernel_without_the_module(tmp_path: Path) -> None:
    check = kernel_datapath_check(NO_FAMILY, str(tmp_path))
    assert check.found.startswith(f"no module openvswitch is to be seen for the kernel {os.uname().release}")
    assert check.remedy.startswith("sudo modprobe openvswitch, on the machine itself")


def test_only_the_kernel_datapath_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_datapath, "_missing", lambda: ("it is not there", "sudo mend it"))
    require_datapath("user")
    with pytest.raises(MachineError, match=r"^--datapath kernel: it is not there\n  sudo mend it\n") as caught:
        require_datapath("kernel")
    assert caught.value.exit_status == 3


def test_one_processor_for_the_kernel_datapath_alone() -> None:
    before = os.sched_getaffinity(0)
    with on_one_processor("user") as allowed:
        assert (allowed, os.sched_getaffinity(0)) == (None, before)
    with on_one_processor("kernel") as allowed:
        assert allowed == frozenset(before)
        assert len(os.sched_getaffinity(0)) == 1
        assert os.sched_getaffinity(0) <= before
    assert os.sched_getaffinity(0) == before
