from controllers.policy import Policy


class Hangs(Policy):
    def on_interval(self, seen):
        while seen.time_ps:
            pass
