"""From the ``fabric`` section of a scenario to the plan of a fabric."""

from testbed.fabric.builder import FabricBuilder
from testbed.fabric.plan import FabricPlan
from testbed.fabric.topologies import layout_of
from testbed.scenario.model import FabricOptions


def build_plan(options: FabricOptions) -> FabricPlan:
    """Return the plan for `options`: pure, and equal for equal options."""
    builder = FabricBuilder(options)
    layout_of(options.topology)(options.topology, builder)
    return builder.plan()
