"""Finds policies and applications: the project's own by the names of their files, others by the path of a file.

A file's name is the plug-in's name (``adaptive_ecn.py`` is ``adaptive-ecn``), so adding one edits no list. A policy's
file holds one class derived from `Policy`; a user's file is loaded in the controller's process only.
"""

import importlib
import importlib.util
import inspect
import linecache
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import ModuleType

from controllers.policy.base import Policy
from controllers.policy.options import BadPolicy, options_of
from testbed.errors import ScenarioError

_CONTROLLERS = Path(__file__).parents[1]
POLICIES = _CONTROLLERS / "policies"
APPS = _CONTROLLERS / "apps"


def app_names() -> tuple[str, ...]:
    """Return the names of the project's own applications."""
    return _names(APPS)


def policy_names() -> tuple[str, ...]:
    """Return the names of the project's own policies."""
    return _names(POLICIES)


def _names(folder: Path) -> tuple[str, ...]:
    return tuple(sorted(file.stem.replace("_", "-") for file in folder.glob("*.py") if file.stem != "__init__"))


def is_file(name: str) -> bool:
    """Whether `name` is meant as the path of a file: it ends in ``.py``."""
    return name.endswith(".py")


def unknown_name(noun: str, name: str, names: tuple[str, ...]) -> str:
    """Say that there is no `noun` called `name`: the near names, or all, and that a file may be given."""
    near = get_close_matches(name, names, n=2)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are {', '.join(names)}"
    return f"no {noun} {name!r}; {hint} (or give the path of a .py file)"


@cache
def builtin_policy(name: str) -> type[Policy]:
    """Return the class of one of the project's own policies."""
    return policy_in(importlib.import_module(f"controllers.policies.{name.replace('-', '_')}"), name)


def policy_class(name: str) -> tuple[type[Policy], str]:
    """Return the policy `name` (one of the project's own, or a path) and its source file. Raises ScenarioError.

    A file that cannot be imported raises what its own code raises.
    """
    if name in policy_names():
        return builtin_policy(name), str(POLICIES / f"{name.replace('-', '_')}.py")
    if not is_file(name):
        raise ScenarioError(unknown_name("policy", name, policy_names()))
    path = Path(name)
    if not path.is_file():
        raise ScenarioError(f"policy {name}: no such file")
    return policy_in(import_file(path, "policy"), name), str(path.absolute())


def policy_in(module: ModuleType, name: str) -> type[Policy]:
    """Return the policy that a module holds. Raises ScenarioError where it holds none, or several."""
    classes = [
        member
        for _, member in inspect.getmembers(module, inspect.isclass)
        if issubclass(member, Policy) and member.__module__ == module.__name__
    ]
    if len(classes) != 1:
        found = ", ".join(each.__name__ for each in classes) if classes else "none"
        raise ScenarioError(f"policy {name}: expected one class derived from controllers.policy.Policy, found {found}")
    (found_class,) = classes
    if not is_dataclass(found_class) or "__dataclass_fields__" not in found_class.__dict__:
        found_class = dataclass(found_class)
    try:
        options_of(found_class)
    except BadPolicy as error:
        raise ScenarioError(f"policy {name}: {error}") from None
    return found_class


def import_file(path: Path, noun: str) -> ModuleType:
    """Import a file under its own name, with its folder on the path, as Python does with a script.

    A file that was imported before is read again, and so are the modules beside it: somebody may have changed them.
    """
    folder = path.resolve().parent
    _forget(folder, _LOADED - {path.stem})
    if path.stem in sys.modules:
        raise ScenarioError(f"{noun} {path}: a module {path.stem!r} is already loaded; rename the file")
    spec = importlib.util.spec_from_file_location(path.stem, path.absolute())
    if spec is None or spec.loader is None:
        raise ScenarioError(f"{noun} {path}: expected a Python file, found none")
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    try:
        with _no_compiled_forms():
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[path.stem]
        raise
    _LOADED.add(path.stem)
    return module


_LOADED: set[str] = set()
"""Names of the modules that `import_file` has made: one that is in use is not forgotten for another."""


@contextmanager
def _no_compiled_forms() -> Iterator[None]:
    """Leave none beside a user's files meanwhile: they are told from a change by the second and the length only."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


def _forget(folder: Path, others: Collection[str]) -> None:
    """Forget the modules whose files lie in `folder`, but for `others`."""
    for name, module in list(sys.modules.items()):
        origin = getattr(getattr(module, "__spec__", None), "origin", None)
        if origin is None or not origin.endswith(".py") or Path(origin).resolve().parent != folder:
            continue
        if "." not in name and not hasattr(module, "__path__") and name not in others:
            del sys.modules[name]
            linecache.checkcache(origin)
