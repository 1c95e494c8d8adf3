"""``l3-ecmp``: routes over all equal-cost paths, installed before the first packet.

Every switch that connects is told its routes at once (`controllers.rules`), and nothing afterwards: no packet ever
comes to the controller. Write your own application like this one; it needs nothing of the testbed but the plan.
"""

# Ryu and os-ken carry no types, so its classes and decorators are untyped here:
# mypy: disable-error-code="misc, untyped-decorator"

from typing import Any, ClassVar

from ryu.base import app_manager
from ryu.controller import ofp_event
from ryu.controller.handler import CONFIG_DISPATCHER, set_ev_cls
from ryu.ofproto import ofproto_v1_5

from controllers.fabric import Fabric
from controllers.rules import routes
from controllers.sending import send_rules


class L3Ecmp(app_manager.RyuApp):
    """Tells each switch its routes when it has said who it is."""

    OFP_VERSIONS: ClassVar = [ofproto_v1_5.OFP_VERSION]
    _CONTEXTS: ClassVar = {"fabric": Fabric}

    def __init__(self, *args: Any, fabric: Fabric, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rules = {rules.dpid: rules for rules in routes(fabric.plan)}

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def on_switch_features(self, event: Any) -> None:
        datapath = event.msg.datapath
        send_rules(datapath, self.rules[datapath.id])
