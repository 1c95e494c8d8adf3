"""The base class of every policy. Its hooks are named for what happened and by default do nothing.

A hook returns the actions that it wants, or yields them one by one. They take effect one control latency of model time
after what the hook was told of; those of `on_start` before the first packet.
"""

from collections.abc import Iterable
from typing import ClassVar, TypeAlias

from controllers.policy.actions import Action
from controllers.policy.telemetry import Telemetry
from testbed.fabric.plan import FabricPlan

Actions: TypeAlias = Iterable[Action]
"""What a hook may return: actions in their order."""


class Policy:
    """One policy. A subclass is a dataclass: its fields are its options (`controllers.policy.options`).

    `needs_app`: the application whose rules it builds on (``l3-ecmp``), None if any will do. `needs_section`: the part
    of the scenario without which it can do nothing (``fabric.qos``, ``fabric.qos.pfc``). `sees_flows`: telemetry lists
    the flows that crossed each port; it costs a look at each packet, so only where it is used. `sets_meters`: a policy
    of the project's own says so; a user's may set meters in any case.
    """

    needs_app: ClassVar[str | None] = None
    needs_section: ClassVar[str | None] = None
    sees_flows: ClassVar[bool] = False
    sets_meters: ClassVar[bool] = False

    def check(self) -> str | None:
        """The options have been read: say what is wrong with them together (kmin above kmax), None if nothing is.

        It is asked before anything is built; a ValueError counts as what is wrong, too.
        """
        return None

    def on_start(self, fabric: FabricPlan) -> Actions | None:
        """The fabric is up and nothing has been sent."""

    def on_interval(self, seen: Telemetry) -> Actions | None:
        """A control interval is over: `seen` is what happened in it."""

    def on_link_down(self, link: str) -> Actions | None:
        """The link `link` (``leaf0-spine1``) has gone down."""

    def on_link_up(self, link: str) -> Actions | None:
        """The link `link` is back."""
