"""The messages about what hosts are; the others are in `wording`."""

from __future__ import annotations


def soft_roce_needs(wanted: str, given: str) -> str:
    return f"expected a fabric with {wanted} for hosts with Soft-RoCE, found {given}; set fabric.{wanted}"
