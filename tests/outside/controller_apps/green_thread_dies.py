"""A background job with a bug."""

from ryu.base import app_manager
from ryu.lib import hub


class GreenThreadDies(app_manager.RyuApp):
    def start(self):
        super().start()
        self.threads.append(hub.spawn(self.poll_counters))

    def poll_counters(self):
        hub.sleep(0)
        raise ValueError("no counters")
