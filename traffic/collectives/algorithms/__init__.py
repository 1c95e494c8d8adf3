"""The algorithms, by ``collective/algorithm`` (``all-reduce/ring``): one readable file each, which registers itself.

`traffic.collectives.algorithm` says what one is. They import nothing but that and each other, so that the checker of
scenarios can ask them what they refuse.
"""

from traffic.collectives.algorithm import Algorithm
from traffic.plugins import Registry

algorithms: Registry[type[Algorithm]] = Registry("collective algorithm", "traffic.collectives.algorithms")


def algorithms_of(collective: str) -> tuple[str, ...]:
    """Return the names of all algorithms for a collective (``ring``), sorted."""
    names = (name.partition("/") for name in algorithms.names())
    return tuple(algorithm for of, _, algorithm in names if of == collective)
