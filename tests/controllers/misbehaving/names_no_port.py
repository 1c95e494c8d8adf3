from controllers.policy import Policy, SetLossless


class NamesNoPort(Policy):
    def on_interval(self, seen):  # noqa: ARG002 - the hook's signature
        return [SetLossless("leaf9-eth1", 3, lossless=True)]
