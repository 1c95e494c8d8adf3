"""The log of OpenFlow messages: one line each, by model time, whatever order switches spoke in."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from controllers.openflow_log import OpenFlowLog, describe

OFPROTO = SimpleNamespace(OFPP_FLOOD=0xFFFFFFFB, OFPP_CONTROLLER=0xFFFFFFFD)
DATAPATH = SimpleNamespace(ofproto=OFPROTO)


def made(kind: str, **fields: Any) -> Any:
    return type(kind, (), fields)()


def output(port: int) -> Any:
    return made("OFPActionOutput", port=port)


def test_a_flow_mod_in_words() -> None:
    apply = made("OFPInstructionActions", actions=[made("OFPActionSetField", key="ip_ecn", value=3), output(2)])
    message = made("OFPFlowMod", datapath=DATAPATH, command=0, priority=7, match={"in_port": 1}, instructions=[apply])
    assert describe(message) == "OFPFlowMod(add, priority=7, {in_port: 1}, set_field:ip_ecn=3, output:2)"
    message.instructions = []
    assert describe(message) == "OFPFlowMod(add, priority=7, {in_port: 1}, drop)"


def test_a_packet_out_is_told_without_its_bytes() -> None:
    flood = [output(OFPROTO.OFPP_FLOOD)]
    message = made("OFPPacketOut", datapath=DATAPATH, in_port=OFPROTO.OFPP_CONTROLLER, data=bytes(60), actions=flood)
    assert describe(message) == "OFPPacketOut(in_port=controller, 60 B, output:flood)"


def test_lines_of_one_time_are_in_the_order_of_switches(tmp_path: Path) -> None:
    log = OpenFlowLog(tmp_path / "openflow.log")
    log.time_ps = 21_635_520
    for switch, text in (("leaf1", "first"), ("leaf0", "second"), ("leaf1", "third")):
        log.note(switch, ">", text)
    log.flush()
    log.time_ps += 1
    log.note("leaf0", "<", "fourth")
    log.flush()
    lines = (tmp_path / "openflow.log").read_text().splitlines()
    assert [line.split()[1::2] for line in lines] == [
        ["leaf0", "second"], ["leaf1", "first"], ["leaf1", "third"], ["leaf0", "fourth"],
    ]  # fmt: skip
    assert lines[0].startswith("21.63552us ")


def test_without_a_path_nothing_is_written() -> None:
    log = OpenFlowLog(None)
    log.note_sent("leaf0", made("OFPFlowMod"))  # it is not even described
    log.flush()
