"""A learning switch with more habits: it clears the table when it starts and again with its first packet, gives flows a
timeout, sends packets through the table, and asks for statistics every now and then.
"""

from ryu.base import app_manager
from ryu.controller import ofp_event
from ryu.controller.handler import MAIN_DISPATCHER, set_ev_cls
from ryu.lib import hub
from ryu.lib.packet import ethernet, packet
from ryu.ofproto import ofproto_v1_3


class BusyLearningSwitch(app_manager.RyuApp):
    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]  # noqa: RUF012 - as Ryu's own examples have it

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.port_of = {}
        self.datapaths = []
        self.monitor = hub.spawn(self.ask)

    def ask(self):
        while True:
            hub.sleep(0.01)
            for datapath in self.datapaths:
                parser, ofproto = datapath.ofproto_parser, datapath.ofproto
                datapath.send_msg(parser.OFPPortStatsRequest(datapath, 0, ofproto.OFPP_ANY))

    @set_ev_cls(ofp_event.EventOFPStateChange, MAIN_DISPATCHER)
    def on_connected(self, event):
        self.clear(event.datapath)
        self.datapaths.append(event.datapath)

    def clear(self, datapath):
        ofproto, parser = datapath.ofproto, datapath.ofproto_parser
        everything = parser.OFPFlowMod(
            datapath=datapath, command=ofproto.OFPFC_DELETE, table_id=ofproto.OFPTT_ALL,
            out_port=ofproto.OFPP_ANY, out_group=ofproto.OFPG_ANY, match=parser.OFPMatch(),
        )  # fmt: skip
        datapath.send_msg(everything)
        self.add_flow(datapath, 0, parser.OFPMatch(), ofproto.OFPP_CONTROLLER)

    def add_flow(self, datapath, priority, match, port):
        ofproto, parser = datapath.ofproto, datapath.ofproto_parser
        actions = [parser.OFPActionOutput(port, ofproto.OFPCML_NO_BUFFER)]
        instructions = [parser.OFPInstructionActions(ofproto.OFPIT_APPLY_ACTIONS, actions)]
        datapath.send_msg(
            parser.OFPFlowMod(
                datapath=datapath, idle_timeout=3, priority=priority, match=match, instructions=instructions
            )
        )

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def on_packet_in(self, event):
        message, datapath = event.msg, event.msg.datapath
        ofproto, parser = datapath.ofproto, datapath.ofproto_parser
        in_port = message.match["in_port"]
        frame = packet.Packet(message.data).get_protocol(ethernet.ethernet)
        if not self.port_of:
            self.clear(datapath)
        self.port_of[datapath.id, frame.src] = in_port
        port = self.port_of.get((datapath.id, frame.dst))
        if port is None:
            port = ofproto.OFPP_FLOOD
        else:
            self.add_flow(datapath, 1, parser.OFPMatch(in_port=in_port, eth_dst=frame.dst), port)
            port = ofproto.OFPP_TABLE
        datapath.send_msg(
            parser.OFPPacketOut(
                datapath=datapath, buffer_id=ofproto.OFP_NO_BUFFER, in_port=in_port,
                actions=[parser.OFPActionOutput(port)], data=message.data,
            )
        )  # fmt: skip
