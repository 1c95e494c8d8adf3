from controllers.policy import Policy


class AnswersText(Policy):
    def on_interval(self, seen):  # noqa: ARG002 - the hook's signature
        yield "mark everything"
