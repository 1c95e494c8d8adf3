"""Sends every packet through the switch's table, which sends it up again; floods it only then."""

from ryu.base import app_manager
from ryu.controller import ofp_event
from ryu.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from ryu.ofproto import ofproto_v1_3


class ThroughTheTable(app_manager.RyuApp):
    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]  # noqa: RUF012 - as Ryu's own examples have it

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.seen = set()

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def on_features(self, event):
        datapath = event.msg.datapath
        ofproto, parser = datapath.ofproto, datapath.ofproto_parser
        up = [parser.OFPActionOutput(ofproto.OFPP_CONTROLLER, ofproto.OFPCML_NO_BUFFER)]
        instructions = [parser.OFPInstructionActions(ofproto.OFPIT_APPLY_ACTIONS, up)]
        datapath.send_msg(parser.OFPFlowMod(datapath=datapath, priority=0, instructions=instructions))

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def on_packet_in(self, event):
        message, datapath = event.msg, event.msg.datapath
        ofproto, parser = datapath.ofproto, datapath.ofproto_parser
        key = (datapath.id, bytes(message.data))
        port = ofproto.OFPP_FLOOD if key in self.seen else ofproto.OFPP_TABLE
        self.seen ^= {key}
        datapath.send_msg(
            parser.OFPPacketOut(
                datapath=datapath, buffer_id=ofproto.OFP_NO_BUFFER, in_port=message.match["in_port"],
                actions=[parser.OFPActionOutput(port)], data=message.data,
            )
        )  # fmt: skip
