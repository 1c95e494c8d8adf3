"""The shapes that a fabric can have: one file a topology, each registers itself.

A topology is a function from its options (a class of `testbed.scenario.model`) to calls of the builder:

    @topology(LeafSpine)
    def leaf_spine(options: LeafSpine, builder: FabricBuilder) -> None:
        ...

The order of the calls is the order of the ports: hosts first, then uplinks. To add a shape, add its options to the
model and a file here; the files of this folder are found by themselves.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from testbed.fabric.builder import FabricBuilder
from testbed.scenario.section import Section

Options = TypeVar("Options", bound=Section)
Layout = Callable[[Options, FabricBuilder], None]

_LAYOUTS: dict[type[Section], Layout[Any]] = {}


def topology(options: type[Options]) -> Callable[[Layout[Options]], Layout[Options]]:
    """Register the decorated function as what lays out fabrics of `options`. Raises ValueError for a second one."""

    def register(layout: Layout[Options]) -> Layout[Options]:
        if options in _LAYOUTS:
            raise ValueError(f"{options.__name__} has two topologies: {_LAYOUTS[options]} and {layout}")
        _LAYOUTS[options] = layout
        return layout

    return register


@cache
def _import_all() -> None:
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")


def layout_of(options: Section) -> Layout[Any]:
    """Return the function that lays out `options`. Raises LookupError when no file registered one."""
    _import_all()
    try:
        return _LAYOUTS[type(options)]
    except KeyError:
        names = ", ".join(sorted(kind.__name__ for kind in _LAYOUTS))
        raise LookupError(f"no topology is registered for {type(options).__name__}; registered: {names}") from None
