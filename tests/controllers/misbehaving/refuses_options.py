from controllers.policy import Policy


class RefusesOptions(Policy):
    low: int = 5
    high: int = 1

    def __post_init__(self):
        if self.low > self.high:
            raise ValueError(f"expected low of at most high, found {self.low} and {self.high}")
