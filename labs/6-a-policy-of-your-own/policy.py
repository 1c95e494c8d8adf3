"""My policy: it sees every port once an interval, and may change thresholds."""

from controllers.policy import Policy, SetEcn, Size, Telemetry


class MyPolicy(Policy):
    """Does nothing yet.

    Options:
        kmin: where marks are to begin on a port that many send to.
    """

    kmin: Size = "50KB"

    def on_interval(self, seen: Telemetry):
        # For example:  yield SetEcn(port.name, priority=3, kmin=self.kmin, kmax=4 * self.kmin, pmax=1.0)
        for port in seen.ports:
            _ = port.queues[3].queue_bytes, SetEcn
        return ()
