"""Which flows a work is: who writes how much to whom, and when. All of it is decided before anything runs.

    ring          every host to the next
    all-to-all    every host to the next, then to the second next, and so on around: no two begin with one destination
    permutation   every host to another one, none to itself, and each receives once: a derangement, drawn by the seed
    incast        several hosts to one, all at once
    random        flows begin at every host as a Poisson process, to a host drawn among the others, of a size drawn
                  from a distribution (`testbed.scenario.flow_sizes`)

Random flows load each sender's link: with L of its rate R, and flows of mean size S, L R / (8 S) begin in a second.
That counts payload; headers take some more. Every host draws from a generator of its own, so a host more changes
nothing of the times and sizes at the others. Whether there are flows ends with `duration`; their last bytes come later.

References: HPCC's traffic generator has the same arrivals and draws (see `testbed.scenario.flow_sizes`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from testbed.fabric.plan import FabricPlan
from testbed.scenario.flow_sizes import distribution_of
from testbed.scenario.model import Flow, Flows
from testbed.scenario.semantics_flows import arrivals_per_ps, hosts_of

_OF_PATTERN = 0
_OF_HOST = 1


def flows_of(work: Flows, plan: FabricPlan, seed: int = 1, index: int = 0) -> tuple[Flow, ...]:
    """Return the flows of the checked `work` number `index` of a workload, with starts after the work's own `start`.

    `seed` is the scenario's. Listed flows are in their order, all others in that of their starts.
    """
    if work.pattern == "random":
        return tuple(sorted(_random(work, plan, seed, index), key=lambda flow: flow.start))
    once = work.flows if work.pattern == "listed" else tuple(_once(work, plan, seed, index))
    if work.every is None:
        return once
    return tuple(
        flow.model_copy(update={"start": flow.start + begin})
        for begin in range(0, work.duration or 1, work.every)
        for flow in once
    )


def _once(work: Flows, plan: FabricPlan, seed: int, index: int) -> Iterator[Flow]:
    """Yield the flows of one round of a pattern."""
    hosts, generator = hosts_of(work, plan), _generator(seed, index, _OF_PATTERN)
    assert work.size is not None, "a checked pattern has a size"
    for source, destination in _pairs(work, hosts, generator):
        yield _flow(source, destination, work.size, 0)


def _pairs(work: Flows, hosts: Sequence[str], generator: np.random.Generator) -> Iterator[tuple[str, str]]:
    if work.pattern == "permutation":
        yield from zip(hosts, derangement(hosts, generator), strict=True)
    elif work.pattern == "incast":
        destination = work.destination or hosts[int(generator.integers(len(hosts)))]
        others = [host for host in hosts if host != destination]
        chosen = sorted(generator.permutation(len(others))[: work.sources]) if work.sources else range(len(others))
        yield from ((others[number], destination) for number in chosen)
    else:
        furthest = 1 if work.pattern == "ring" else len(hosts) - 1
        for step in range(1, furthest + 1):
            yield from ((host, hosts[(number + step) % len(hosts)]) for number, host in enumerate(hosts))


def derangement(hosts: Sequence[str], generator: np.random.Generator) -> list[str]:
    """Return a permutation of at least two `hosts` that leaves none in its place; each such is equally likely.

    Permutations are drawn until one does: a share of 1 / e, about 37 %, do (de Montmort).
    """
    while True:
        order = generator.permutation(len(hosts))
        if all(number != place for place, number in enumerate(order)):
            return [hosts[number] for number in order]


def _random(work: Flows, plan: FabricPlan, seed: int, index: int) -> Iterator[Flow]:
    hosts, sizes = hosts_of(work, plan), distribution_of(work.sizes, work.size)
    numbers = {host.name: number for number, host in enumerate(plan.hosts)}
    assert work.duration is not None, "a checked random work has a duration"
    for source in hosts:
        generator = _generator(seed, index, _OF_HOST, numbers[source])
        others = [host for host in hosts if host != source]
        mean_gap_ps = 1 / arrivals_per_ps(work, plan, source, sizes)
        time_ps = generator.exponential(mean_gap_ps)
        while time_ps < work.duration:
            destination = others[int(generator.integers(len(others)))]
            yield _flow(source, destination, sizes.size_at(float(generator.random())), int(time_ps))
            time_ps += generator.exponential(mean_gap_ps)


def _flow(source: str, destination: str, size_bytes: int, start_ps: int) -> Flow:
    return Flow.model_construct(source=source, destination=destination, size=size_bytes, start=start_ps)


def _generator(seed: int, *of: int) -> np.random.Generator:
    """Return the generator of the part `of` of a scenario with `seed`."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=of)))
