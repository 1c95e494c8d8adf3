from controllers.policy import Policy, SetEcn


class AnswersWithoutEnd(Policy):
    def on_interval(self, seen):  # noqa: ARG002 - the hook's signature
        while True:
            yield SetEcn("leaf0-eth1", 3, 1, 2, 0.5)
