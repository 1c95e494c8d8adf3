"""What can go wrong in a way that a user can mend. The exit status is part of the error (README, Exit status)."""


class RocelabError(Exception):
    """A failure with a message for the user: what was attempted, what was found, what mends it."""

    exit_status = 1


class ScenarioError(RocelabError):
    """The input is wrong; the message lists every mistake with its place."""

    exit_status = 2


class MachineError(RocelabError):
    """The machine lacks something that a run needs; the message names the command that mends it."""

    exit_status = 3


class TestbedError(RocelabError):
    """The testbed itself failed (a switch, the controller, a lost frame): nothing was measured."""

    __test__ = False  # not a test class, though pytest would take it for one
    exit_status = 1
