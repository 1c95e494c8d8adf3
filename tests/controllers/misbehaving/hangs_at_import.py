from controllers.policy import Policy  # noqa: F401 - what a user would begin with

while True:
    pass
