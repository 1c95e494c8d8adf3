"""Two switches, `left0` and `right0`, and one link between: every flow from left to right shares its bottleneck."""

from testbed.fabric.builder import FabricBuilder
from testbed.fabric.topologies import topology
from testbed.scenario.model import Dumbbell


@topology(Dumbbell)
def dumbbell(options: Dumbbell, builder: FabricBuilder) -> None:
    left = builder.switch("left0", tier=0)
    right = builder.switch("right0", tier=0)
    for _ in range(options.left):
        builder.host(left)
    for _ in range(options.right):
        builder.host(right)
    builder.link(left, right, options.core)
