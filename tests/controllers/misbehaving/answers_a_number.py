from controllers.policy import Policy


class AnswersANumber(Policy):
    def on_interval(self, seen):
        return 42
