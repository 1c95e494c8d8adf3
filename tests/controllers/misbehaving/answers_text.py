from controllers.policy import Policy


class AnswersText(Policy):
    def on_interval(self, seen):
        yield "mark everything"
