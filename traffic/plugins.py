"""Registries of plug-ins: one plug-in is one file that registers itself under a name; adding one edits no list.

    recoveries: Registry[Hooks] = Registry("loss recovery", "traffic.nic.recovery")

    @recoveries.register("go-back-n")
    class GoBackN(Hooks): ...

A registry imports every module of its package when it is first asked for a name.
"""

import importlib
import pkgutil
from collections.abc import Callable
from difflib import get_close_matches
from typing import Generic, TypeVar

from testbed.errors import ScenarioError

T = TypeVar("T")


class Registry(Generic[T]):
    """Plug-ins of one `kind` (``loss recovery``), found in the modules of `package`, by name."""

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self._package = package
        self._plugins: dict[str, T] = {}
        self._searched = False

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that registers what it decorates. Raises ValueError when the name is taken."""

        def add(plugin: T) -> T:
            if name in self._plugins:
                raise ValueError(f"there are two plug-ins for {self.kind} {name!r}")
            self._plugins[name] = plugin
            return plugin

        return add

    def __getitem__(self, name: str) -> T:
        """Return the plug-in `name`. Raises ScenarioError with near names when there is none."""
        names = self.names()
        if name not in self._plugins:
            near = get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(names)}"
            raise ScenarioError(f"no {self.kind} {name!r}; {hint}")
        return self._plugins[name]

    def names(self) -> tuple[str, ...]:
        """Return all names, sorted."""
        if not self._searched:
            package = importlib.import_module(self._package)
            for module in pkgutil.iter_modules(package.__path__):
                importlib.import_module(f"{self._package}.{module.name}")
            self._searched = True
        return tuple(sorted(self._plugins))
