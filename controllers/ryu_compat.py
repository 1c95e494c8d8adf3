"""``import ryu`` for classic Ryu and for os-ken, its maintained fork, alike.

Applications are written against Ryu's API. Where the classic package (4.34, the last) is installed, it is what they
get, with one attribute put back that newer releases of eventlet no longer have and Ryu still asks for. Elsewhere
os-ken answers under the name ``ryu``: ``ryu.x.y`` *is* the module ``os_ken.x.y``, and ``RyuApp`` is ``OSKenApp``.
So a student's application runs unchanged on either.

Both run on eventlet's green threads. os-ken's native threads do not end when asked to, and handlers of several
applications would run at once.

ROCELAB_RYU=ryu or =os-ken in the environment chooses where both are installed.
"""

import difflib
import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

from testbed.errors import MachineError

CHOICE_VARIABLE = "ROCELAB_RYU"
_PACKAGES = {"ryu": "ryu", "os-ken": "os_ken"}


@dataclass(frozen=True, slots=True)
class Flavour:
    """What ``ryu`` is in this process: the distribution's name (``ryu`` or ``os-ken``) and version."""

    name: str
    version: str


def use_ryu(choice: str | None = None) -> Flavour:
    """Make ``import ryu`` work in this process and return what it gives. Call it before anything opens a socket.

    `choice` is ``ryu`` or ``os-ken``; without it the environment variable decides, then what is installed. Raises
    MachineError where the package is not installed.
    """
    name = _chosen(choice or os.environ.get(CHOICE_VARIABLE))
    _prepare_eventlet()
    if name == "os-ken":
        if not any(isinstance(finder, _OsKenAsRyu) for finder in sys.meta_path):
            sys.meta_path.insert(0, _OsKenAsRyu())
        app_manager = importlib.import_module("ryu.base.app_manager")
        app_manager.RyuApp = app_manager.OSKenApp  # type: ignore[attr-defined] # a module takes any attribute
    else:
        importlib.import_module("ryu.base.app_manager")
    return Flavour(name, importlib.metadata.version(name))


def _chosen(choice: str | None) -> str:
    if choice is not None and choice not in _PACKAGES:
        near = difflib.get_close_matches(choice, _PACKAGES, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise MachineError(f"{CHOICE_VARIABLE} is {choice!r}, expected 'ryu' or 'os-ken'{hint}")
    wanted = [choice] if choice else list(_PACKAGES)
    for name in wanted:
        if importlib.util.find_spec(_PACKAGES[name]) is not None:
            return name
    raise MachineError(f"{' and '.join(wanted)}: not installed for {sys.executable}\n  pip install os-ken")


def _prepare_eventlet() -> None:
    """Patch the standard library for green threads, and mend what the two packages expect otherwise."""
    os.environ["OSKEN_HUB_TYPE"] = "eventlet"
    os.environ.setdefault("EVENTLET_NO_GREENDNS", "yes")  # nobody resolves names here, and its import is slow
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that eventlet itself is deprecated: as are both packages that need it
        eventlet = importlib.import_module("eventlet")
        wsgi = importlib.import_module("eventlet.wsgi")
    if not hasattr(wsgi, "ALREADY_HANDLED"):  # gone since eventlet 0.31; ryu.app.wsgi imports it
        wsgi.ALREADY_HANDLED = object()  # type: ignore[attr-defined] # a module takes any attribute
    eventlet.monkey_patch()


class _OsKenAsRyu(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers an import of ``ryu.x.y`` with the module ``os_ken.x.y``: the same object, so classes stay one."""

    def find_spec(
        self,
        fullname: str,
        _path: Sequence[str] | None,
        _target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "ryu" and not fullname.startswith("ryu."):
            return None
        if importlib.util.find_spec(_os_ken_name(fullname)) is None:
            raise ModuleNotFoundError(
                f"No module named {fullname!r}: here os-ken stands in for Ryu, and it has no {_os_ken_name(fullname)}; "
                "classic Ryu 4.34 may have it",
                name=fullname,
            )
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def exec_module(self, module: ModuleType) -> None:
        # The import system hands on what stands in sys.modules after this, which need not be `module`.
        sys.modules[module.__name__] = importlib.import_module(_os_ken_name(module.__name__))


def _os_ken_name(fullname: str) -> str:
    return "os_ken" + fullname.removeprefix("ryu")
