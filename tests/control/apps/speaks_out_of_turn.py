"""A learning switch that also adds a flow by a clock of its own, which no event has asked for."""

import importlib.util
from pathlib import Path

from ryu.lib import hub

_spec = importlib.util.spec_from_file_location("learning", Path(__file__).with_name("learning_switch_13.py"))
_learning = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_learning)


class SpeaksOutOfTurn(_learning.LearningSwitch13):
    def add_flow(self, datapath, priority, match, actions):
        super().add_flow(datapath, priority, match, actions)
        if priority:
            hub.spawn_after(0.01, super().add_flow, datapath, 2, match, actions)
