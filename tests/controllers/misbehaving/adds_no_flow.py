from controllers.policy import AddFlow, Policy


class AddsNoFlow(Policy):
    def on_interval(self, seen):  # noqa: ARG002 - the hook's signature
        return [AddFlow("leaf0", 5)]
