"""What a policy is written with: its base class, what it sees, what it may do, and the types of its options.

    from controllers.policy import Policy, SetEcn, Size, Telemetry

A policy is one class in one file; the file's name is what a scenario calls it (``adaptive_ecn.py`` is
``adaptive-ecn``), and docs/policies.md says how to write one.

    base         the class: its hooks
    options      its fields are its options: types, defaults, what is wrong with a given value
    telemetry    what it sees once every control interval
    actions      what it answers
    catalogue    finds policies and applications by name, or in a user's file
"""

from controllers.openflow import DecrementTtl, FlowMod, Output, SelectGroup, SetField, ToGroup
from controllers.policy.actions import (
    Action,
    AddFlow,
    AddGroup,
    DeleteFlow,
    DeleteGroup,
    PacketOut,
    SendPause,
    SetEcn,
    SetLossless,
    SetMeter,
    SetPfc,
)
from controllers.policy.base import Actions, Policy
from controllers.policy.options import GBPS, KB, MB, Dscp, Priority, Range, Rate, Share, Size, Time, sizes_cross
from controllers.policy.telemetry import FlowTelemetry, PortTelemetry, QueueTelemetry, Telemetry

__all__ = [
    "GBPS",
    "KB",
    "MB",
    "Action",
    "Actions",
    "AddFlow",
    "AddGroup",
    "DecrementTtl",
    "DeleteFlow",
    "DeleteGroup",
    "Dscp",
    "FlowMod",
    "FlowTelemetry",
    "Output",
    "PacketOut",
    "Policy",
    "PortTelemetry",
    "Priority",
    "QueueTelemetry",
    "Range",
    "Rate",
    "SelectGroup",
    "SendPause",
    "SetEcn",
    "SetField",
    "SetLossless",
    "SetMeter",
    "SetPfc",
    "Share",
    "Size",
    "Telemetry",
    "Time",
    "ToGroup",
    "sizes_cross",
]
