"""From the scenario's faults to impairments on the wires."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from random import Random

from testbed.engine import impairments
from testbed.engine.transmitter import Transmitter
from testbed.fabric.plan import FabricPlan
from testbed.scenario import model


def impair(plan: FabricPlan, transmitters: Mapping[str, Transmitter], faults: Sequence[model.Fault], seed: int) -> None:
    """Put `faults` on the wires they name. Each fault has randomness of its own, made from `seed` and its place.

    Pause storms are no fault of a wire: `ModelFabric.storm` has them.
    """
    of_port: dict[str, list[impairments.Fault]] = defaultdict(list)
    for index, fault in enumerate(faults):
        if isinstance(fault, model.PauseStorm):
            continue
        random = Random(f"fault {index} of seed {seed}")
        for port in _ports(plan, fault):
            of_port[port].append(_impairment(fault, random))
    for port, found in of_port.items():
        transmitters[port].impair(impairments.Faults(found))


WireFault = model.DropNth | model.RandomLoss | model.Corruption | model.LinkDown


def _ports(plan: FabricPlan, fault: WireFault) -> list[str]:
    if isinstance(fault, model.LinkDown):
        link = next(link for link in plan.links if link.name == fault.link)
        return [link.a.name, link.b.name]
    return [fault.port]


def _impairment(fault: WireFault, random: Random) -> impairments.Fault:
    match fault:
        case model.DropNth():
            return impairments.DropNth(fault.frames, fault.nth, fault.count)
        case model.RandomLoss():
            return impairments.RandomLoss(fault.frames, fault.probability, random)
        case model.Corruption():
            return impairments.Corruption(fault.frames, fault.probability, random)
        case model.LinkDown():
            return impairments.LinkDown(fault.at, fault.until)
