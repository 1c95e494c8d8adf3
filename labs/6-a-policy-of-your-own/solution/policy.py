"""Marks early on ports whose queue grows."""

from controllers.policy import Policy, SetEcn, Size, Telemetry


class MarksGrowingQueues(Policy):
    """Marks from `kmin` on where the queue is longer than that, and late again where it is short.

    Options:
        kmin: where marks begin on a port that many send to.
        late: where they begin on all others.
    """

    kmin: Size = "50KB"
    late: Size = "1MB"

    def on_interval(self, seen: Telemetry):
        for port in seen.ports:
            queue = port.queues[3]
            kmin = self.kmin if queue.watermark_bytes > self.kmin else self.late
            if queue.kmin_bytes != kmin:
                yield SetEcn(port.name, priority=3, kmin=kmin, kmax=4 * kmin, pmax=1.0 if kmin == self.kmin else 0.1)
