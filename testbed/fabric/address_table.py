"""The addresses of a plan as a table of text: a line a NIC, or a line a leaf when these are too many."""

from __future__ import annotations

from collections.abc import Sequence

from testbed.fabric.plan import FabricPlan, Nic

_NIC_LINES = 32
_LEAF_LINES = 40


def address_table(plan: FabricPlan) -> str:
    """Return the table: NICs up to 32 of them, otherwise leaves with ranges."""
    version = f"IPv{plan.ip_version}"
    if len(plan.nics) <= _NIC_LINES:
        return _table(("NIC", "switch port", version, "MAC"), [_nic_row(plan, nic) for nic in plan.nics])
    rows = [_leaf_row(plan, leaf, nics) for leaf, nics in plan.nics_of.items()]
    more = len(rows) - _LEAF_LINES
    if more > 0:
        rows = [*rows[: _LEAF_LINES - 1], ("...", f"{more} more", "", ""), rows[-1]]
    return _table(("switch", "NICs", version, "prefix"), rows)


def _address(plan: FabricPlan, nic: Nic) -> str:
    return nic.ipv4 if plan.ip_version == 4 else nic.ipv6


def _nic_row(plan: FabricPlan, nic: Nic) -> tuple[str, ...]:
    return nic.name, plan.far_end(nic.name).name, _address(plan, nic), nic.mac


def _leaf_row(plan: FabricPlan, leaf: str, nics: Sequence[Nic]) -> tuple[str, ...]:
    names = nics[0].name if len(nics) == 1 else f"{nics[0].name} to {nics[-1].name}"
    addresses = (
        _address(plan, nics[0]) if len(nics) == 1 else f"{_address(plan, nics[0])} to {_address(plan, nics[-1])}"
    )
    return leaf, names, addresses, plan.prefix_of(leaf)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    return "\n".join(
        (" " + "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()
        for row in (header, *rows)
    )
