"""Sends a flow that no switch takes: for table 255, which stands for all tables."""

from ryu.base import app_manager
from ryu.controller import ofp_event
from ryu.controller.handler import CONFIG_DISPATCHER, set_ev_cls
from ryu.ofproto import ofproto_v1_3


class RefusedFlow(app_manager.RyuApp):
    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]  # noqa: RUF012 - as Ryu's own examples have it

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def on_switch_features(self, event):
        datapath = event.msg.datapath
        parser = datapath.ofproto_parser
        datapath.send_msg(parser.OFPFlowMod(datapath, table_id=255, match=parser.OFPMatch(in_port=7), instructions=[]))
