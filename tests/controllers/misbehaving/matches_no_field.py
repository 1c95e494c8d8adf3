from controllers.policy import AddFlow, FlowMod, Policy


class MatchesNoField(Policy):
    def on_interval(self, seen):  # noqa: ARG002 - the hook's signature
        yield AddFlow("leaf0", FlowMod(10, (("no_such", 1),), ()))
