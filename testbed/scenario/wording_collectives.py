"""Every message about collectives and their ranks; sizes are in `wording_sizes`, all else in `wording`."""

from __future__ import annotations

from collections.abc import Sequence

from testbed.scenario.document import KeyPath, path_text
from testbed.scenario.wording import did_you_mean, near_names


def not_a_rank(name: str, hosts: Sequence[str], most_local: int) -> str:
    """`name` is neither a host nor ``<host>.<local number>``."""
    host, _, local = name.partition(".")
    example = f"{host if host in hosts else hosts[0]}.1"
    expected = f"expected a rank, a host's name or <host>.<GPU> with a GPU from 0 to {most_local - 1}"
    if host not in hosts:
        return f"{expected}, found {name!r}, whose host is not in this fabric" + (
            did_you_mean([f"{near}.{local}" for near in near_names(host, hosts)]) or f"; for example {example}"
        )
    return f"{expected}, found {name!r}; for example {example}"


def same_rank(name: str, other: str, first: KeyPath) -> str:
    return f"expected each rank once, found {name!r} again; {path_text(first)} is {other!r}"


def too_few_counted(count: int) -> str:
    return f"expected at least 2 ranks, found {count}; raise count, per_host or the hosts of fabric.topology"


def no_room(count: int, room: int) -> str:
    room_text = f"expected at most {room} ranks, all that the hosts have room for"
    return f"{room_text}, found {count}; raise per_host or lower skip"


def stride_beyond_hosts(stride: int, hosts: int) -> str:
    return f"expected at most the number of hosts, {hosts}, found {stride}"


def on_one_nic(first: str, second: str, nic: str) -> str:
    return (
        f"expected ranks that talk to each other to have a NIC each, or fabric.nvlink, found {first} and {second} "
        f"with {nic} alone; for example 'nvlink: {{}}' in fabric"
    )


def unknown_algorithm(kind: str, name: str, names: Sequence[str]) -> str:
    text = f"{name!r} is not an algorithm for {kind}"
    return text + (did_you_mean(near_names(name, names)) or f"; there are {', '.join(names)}")


def not_among_ranks(name: str, ranks: Sequence[str]) -> str:
    text = f"expected one of the work's ranks, found {name!r}"
    return text + (did_you_mean(near_names(name, ranks)) or f"; for example {ranks[0]}")


def no_such_iteration(iteration: int, iterations: int) -> str:
    return f"expected an iteration from 0 to {iterations - 1}, found {iteration}"


def too_many_buckets(buckets: int, elements: int) -> str:
    return f"expected at most one bucket for each of the {elements} elements, found {buckets}"


def size_or_matrix(both: bool) -> str:
    found = "both" if both else "neither"
    return f"expected either a size or a matrix, found {found}; for example 'size: 4MiB' and 'skew: 1.0'"


def skew_with_matrix() -> str:
    return "expected no skew beside a matrix, which says all sizes, found one; drop it"


def not_square(rows: Sequence[int], ranks: int) -> str:
    sizes = " and ".join(map(str, sorted(set(rows)))) or "no"
    return (
        f"expected {ranks} rows of {ranks} sizes each, from every rank to every rank, "
        f"found {len(rows)} rows of {sizes} sizes"
    )


def nothing_to_send() -> str:
    return (
        "expected at least one size above 0 from a rank to another, found none off the diagonal; "
        "for example '[[0B, 64KiB], [0B, 0B]]'"
    )


def name_taken(name: str, first: KeyPath) -> str:
    return f"expected a name that no other work has, found {name!r} again; it is that of {path_text(first)}"
