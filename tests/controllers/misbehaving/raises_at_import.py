from controllers.policy import Policy  # noqa: F401 - what a user would begin with

1 / 0  # noqa: B018 - what raises
