from controllers.policy import Policy, SetLossless


class NamesNoPort(Policy):
    def on_interval(self, seen):
        return [SetLossless("leaf9-eth1", 3, lossless=True)]
