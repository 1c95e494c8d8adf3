"""A handler with a bug."""

from ryu.base import app_manager
from ryu.controller import ofp_event
from ryu.controller.handler import CONFIG_DISPATCHER, set_ev_cls


class RaisesInHandler(app_manager.RyuApp):
    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def on_switch_features(self, event):
        self.install(event.msg.datapath, {})

    def install(self, datapath, ports):
        self.logger.warning("switch %s", datapath.id)
        return ports["uplink"]
