"""From a scenario's faults to impairments on the wires, from the start of a run or while it goes on."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from random import Random

from testbed.engine import impairments
from testbed.engine.transmitter import Transmitter
from testbed.fabric.plan import FabricPlan
from testbed.scenario import model

WireFault = model.DropNth | model.RandomLoss | model.Corruption | model.LinkDown


class WireFaults:
    """The faults of all wires of a fabric. Each has randomness of its own, made from `seed` and its number.

    Pause storms are no fault of a wire: `ModelFabric.storm` has them.
    """

    def __init__(self, plan: FabricPlan, transmitters: Mapping[str, Transmitter], seed: int) -> None:
        self._plan = plan
        self._transmitters = transmitters
        self._seed = seed
        self._added = 0
        self._of_port: dict[str, list[tuple[WireFault, impairments.Fault]]] = defaultdict(list)

    def add(self, faults: Iterable[model.Fault]) -> None:
        """Put `faults` on the wires they name, behind those that are there."""
        for fault in faults:
            random = Random(f"fault {self._added} of seed {self._seed}")
            self._added += 1
            if isinstance(fault, model.PauseStorm):
                continue
            for port in self._ports(fault):
                self._of_port[port].append((fault, _impairment(fault, random)))
                self._impair(port)

    def remove(self, faults: Iterable[model.Fault]) -> None:
        """Take `faults` off their wires again."""
        gone = list(faults)
        for port, found in self._of_port.items():
            found[:] = [(fault, wire) for fault, wire in found if fault not in gone]
            self._impair(port)

    def bring_up(self, link: str, now_ps: int) -> bool:
        """End whatever keeps `link` down, as of now; what is on the link is still lost. False when nothing did."""
        down = [each for each in self.present() if isinstance(each, model.LinkDown) and _is_down(each, link, now_ps)]
        self.remove(down)
        self.add(each.model_copy(update={"until": now_ps}) for each in down)
        return bool(down)

    def present(self) -> list[WireFault]:
        """Return the faults that are on wires, each once, in the order in which they came."""
        return list(dict.fromkeys(fault for found in self._of_port.values() for fault, _ in found))

    def expect_changes(self) -> None:
        """Let every wire look at its faults again when a frame arrives: one that fails then loses what is on it."""
        for port in self._transmitters:
            self._impair(port)

    def _impair(self, port: str) -> None:
        self._transmitters[port].impair(impairments.Faults([wire for _, wire in self._of_port[port]]))

    def _ports(self, fault: WireFault) -> list[str]:
        if isinstance(fault, model.LinkDown):
            link = next(link for link in self._plan.links if link.name == fault.link)
            return [link.a.name, link.b.name]
        return [fault.port]


def _is_down(fault: model.LinkDown, link: str, now_ps: int) -> bool:
    return fault.link == link and fault.at <= now_ps and (fault.until is None or fault.until > now_ps)


def impair(plan: FabricPlan, transmitters: Mapping[str, Transmitter], faults: Iterable[model.Fault], seed: int) -> None:
    """Put `faults` on the wires they name, for a whole run."""
    WireFaults(plan, transmitters, seed).add(faults)


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
