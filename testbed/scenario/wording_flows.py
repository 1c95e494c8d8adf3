"""The messages about flows; the others are in `wording`."""

from __future__ import annotations

from collections.abc import Sequence

from testbed.scenario.wording import did_you_mean, near_names

_EXAMPLES = {"size": "1MiB", "load": "0.3", "duration": "1ms", "every": "100us"}


def key_without_use(key: str, pattern: str, patterns: Sequence[str]) -> str:
    """`key` stands beside a pattern that has no use for it."""
    use = f"'pattern: {patterns[0]}'" if len(patterns) == 1 else f"one of the patterns {', '.join(patterns)}"
    return f"expected no '{key}' with 'pattern: {pattern}', found it; drop it, or write {use}"


def needs_key(key: str, beside: str) -> str:
    return f"expected the key '{key}' with {beside}, found none; for example '{key}: {_EXAMPLES[key]}'"


def needs_sizes() -> str:
    return "expected 'size' or 'sizes' with 'pattern: random', found neither; for example 'sizes: websearch'"


def size_and_sizes() -> str:
    return "expected either 'size' or 'sizes', found both; drop one"


def unknown_sizes(name: str, names: Sequence[str]) -> str:
    there = f"; there are {', '.join(names)}, or a list of points such as {{size: 10kB, share: 0.5}}"
    return f"no distribution of sizes {name!r}" + (did_you_mean(near_names(name, names)) or there)


def falling(key: str, before: str, here: str) -> str:
    return f"expected a {key} of at least {before}, that of the point before, found {here}"


def last_share(share: float) -> str:
    return f"expected the last point to have 'share: 1', found {share:g}: all flows have at most the largest size"


def too_few_of(hosts: int) -> str:
    return f"expected at least 2 hosts, found {hosts}; for example [h0, h1]"


def too_many_sources(sources: int, room: int) -> str:
    return f"expected at most {room} sources, the hosts that are not the destination, found {sources}"


def too_many_flows(flows: int, most: int) -> str:
    return f"expected at most {most} flows in a work, found {flows}; lower its load or duration, or raise its sizes"


def too_many_repeated(flows: int, most: int) -> str:
    return f"expected at most {most} flows in a work, found {flows}; raise 'every', or lower 'duration'"
