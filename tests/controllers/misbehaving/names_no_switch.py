from controllers.policy import DeleteGroup, Policy


class NamesNoSwitch(Policy):
    def on_interval(self, seen):
        yield DeleteGroup("leaf9", 1)
