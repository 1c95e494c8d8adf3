from controllers.policy import Policy, SetEcn, Size


class Raises(Policy):
    kmin: Size = "30KB"

    def on_interval(self, seen):
        for port in seen.ports:
            yield SetEcn(port.name, 3, self.kmin, kmax=20, pmax=1.0)
