from controllers.policy import Policy


class AnswersANumber(Policy):
    def on_interval(self, seen):  # noqa: ARG002 - the hook's signature
        return 42
