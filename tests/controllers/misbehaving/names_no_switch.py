from controllers.policy import DeleteGroup, Policy


class NamesNoSwitch(Policy):
    def on_interval(self, seen):  # noqa: ARG002 - the hook's signature
        yield DeleteGroup("leaf9", 1)
