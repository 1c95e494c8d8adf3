"""A learning switch as tutorials of Ryu have it: OpenFlow 1.3, reactive, with nothing of this project in it.

It learns which port an address is behind from packets that come up, and installs a flow once it knows both ends.
"""

from ryu.base import app_manager
from ryu.controller import ofp_event
from ryu.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from ryu.lib.packet import ether_types, ethernet, packet
from ryu.ofproto import ofproto_v1_3


class LearningSwitch13(app_manager.RyuApp):
    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]  # noqa: RUF012 - as Ryu's own examples have it

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.port_of = {}

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def on_switch_features(self, event):
        datapath = event.msg.datapath
        ofproto, parser = datapath.ofproto, datapath.ofproto_parser
        to_controller = [parser.OFPActionOutput(ofproto.OFPP_CONTROLLER, ofproto.OFPCML_NO_BUFFER)]
        self.add_flow(datapath, 0, parser.OFPMatch(), to_controller)

    def add_flow(self, datapath, priority, match, actions):
        ofproto, parser = datapath.ofproto, datapath.ofproto_parser
        instructions = [parser.OFPInstructionActions(ofproto.OFPIT_APPLY_ACTIONS, actions)]
        datapath.send_msg(
            parser.OFPFlowMod(datapath=datapath, priority=priority, match=match, instructions=instructions)
        )

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def on_packet_in(self, event):
        message, datapath = event.msg, event.msg.datapath
        ofproto, parser = datapath.ofproto, datapath.ofproto_parser
        in_port = message.match["in_port"]
        frame = packet.Packet(message.data).get_protocol(ethernet.ethernet)
        if frame.ethertype == ether_types.ETH_TYPE_LLDP:
            return
        known = self.port_of.setdefault(datapath.id, {})
        known[frame.src] = in_port
        out_port = known.get(frame.dst, ofproto.OFPP_FLOOD)
        actions = [parser.OFPActionOutput(out_port)]
        if out_port != ofproto.OFPP_FLOOD:
            match = parser.OFPMatch(in_port=in_port, eth_dst=frame.dst, eth_src=frame.src)
            self.add_flow(datapath, 1, match, actions)
        data = message.data if message.buffer_id == ofproto.OFP_NO_BUFFER else None
        datapath.send_msg(
            parser.OFPPacketOut(
                datapath=datapath, buffer_id=message.buffer_id, in_port=in_port, actions=actions, data=data
            )
        )
