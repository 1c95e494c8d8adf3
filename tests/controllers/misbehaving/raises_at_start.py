from controllers.policy import Policy


class RaisesAtStart(Policy):
    def on_start(self, fabric):
        return [fabric.colour]
