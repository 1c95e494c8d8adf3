"""The memory of a machine against what a workload takes."""

import pytest

from testbed.errors import MachineError
from testbed.outside import memory


def test_the_kernel_says_how_much_is_available() -> None:
    assert 0 < memory.available_memory_bytes() < 2**50


def test_too_much_data_is_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory_bytes", lambda: 2**30)
    memory.require_memory(2**30)
    with pytest.raises(MachineError) as refused:
        memory.require_memory(2**30 + 2**29)
    assert str(refused.value) == (
        "the workload's data takes 1.5GiB of memory, and 1GiB are available\n"
        "  without real data in the buffers it takes none: --set workload.0.verify=false"
    )
