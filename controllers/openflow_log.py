"""``openflow.log``: what switches and controller said to each other, at which model time.

    0ps            leaf0    <  OFPFlowMod(add, priority=0, {}, output:controller)
    21.63552us     leaf0    >  OFPPacketIn(in_port=1, 4170 B, reason=0)
    21.63552us     leaf0    <  OFPPacketOut(in_port=1, 4170 B, output:flood)

``<`` is to the switch, ``>`` from it. Within one model time lines are in the order of the switches' names, and of one
switch in the order in which they were said: the order among switches depends on the machine, and nothing on it.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

from testbed.units import format_time

_LONGEST = 400
_COMMANDS = ("add", "modify", "modify strictly", "delete", "delete strictly")
_RESERVED_PORTS = ("IN_PORT", "TABLE", "NORMAL", "FLOOD", "ALL", "CONTROLLER", "LOCAL")


class OpenFlowLog:
    """Writes the log to a file, or nothing where there is no path. `time_ps` is the model time of what comes next."""

    def __init__(self, path: Path | None) -> None:
        self.time_ps = 0
        self._file: TextIO | None = path.open("w", encoding="utf-8") if path else None
        self._lines: list[tuple[str, str]] = []

    def note_sent(self, switch: str | None, message: Any) -> None:
        """Note a message of Ryu's to a switch; to one that has not said who it is yet, there is nothing to note."""
        if self._file is not None and switch is not None:
            self.note(switch, "<", describe(message))

    def note(self, switch: str, direction: str, text: str) -> None:
        """Note a message; `flush` writes it."""
        if self._file is not None:
            self._lines.append((switch, f"{format_time(self.time_ps, 6):<14} {switch:<8} {direction}  {text}\n"))

    def flush(self) -> None:
        """Write what was said at this model time."""
        if self._file is not None:
            self._lines.sort(key=lambda line: line[0])
            self._file.writelines(text for _, text in self._lines)
            self._file.flush()
        self._lines.clear()


def describe(message: Any) -> str:
    """Return a message of Ryu's in one line, without what only machines read."""
    kind, ofproto = type(message).__name__, message.datapath.ofproto
    if kind == "OFPFlowMod":
        instructions = getattr(message, "instructions", None)
        actions = message.actions if instructions is None else _actions_in(instructions)
        match = _match(message.match)
        text = f"{_COMMANDS[message.command]}, priority={message.priority}, {match}, {_actions(actions, ofproto)}"
    elif kind == "OFPPacketOut":
        origin = message.match["in_port"] if hasattr(message, "match") else message.in_port
        size_bytes = len(message.data or b"")
        text = f"in_port={_port(origin, ofproto)}, {size_bytes} B, {_actions(message.actions, ofproto)}"
    elif kind == "OFPGroupMod":
        buckets = " | ".join(_actions(bucket.actions, ofproto) for bucket in message.buckets)
        text = f"command={message.command}, group={message.group_id}, {buckets}"
    else:
        text = str(message).partition(f"{kind}(")[2].rstrip(")")
    return f"{kind}({text[:_LONGEST]})"


def _match(match: Any) -> str:
    fields = match.items() if hasattr(match, "items") else ()
    return "{" + ", ".join(f"{name}: {value}" for name, value in fields) + "}"


def _actions_in(instructions: Iterable[Any]) -> list[Any]:
    return [action for instruction in instructions for action in getattr(instruction, "actions", None) or ()]


def _actions(actions: Iterable[Any], ofproto: Any) -> str:
    return ", ".join(_action(action, ofproto) for action in actions) or "drop"


def _action(action: Any, ofproto: Any) -> str:
    kind = type(action).__name__
    if kind == "OFPActionOutput":
        return f"output:{_port(action.port, ofproto)}"
    if kind == "OFPActionSetField":
        return f"set_field:{action.key}={action.value}"
    return f"group:{action.group_id}" if kind == "OFPActionGroup" else kind.removeprefix("OFPAction")


def _port(number: int, ofproto: Any) -> str:
    for name in _RESERVED_PORTS:
        if number == getattr(ofproto, f"OFPP_{name}", None):
            return name.lower()
    return str(number)
