from controllers.policy import Policy


class Interrupts(Policy):
    def on_interval(self, seen):  # noqa: ARG002 - the hook's signature
        raise KeyboardInterrupt("enough")
