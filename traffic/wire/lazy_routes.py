"""Imported before scapy's layers: keeps scapy from reading the machine's routes until somebody asks for one.

On import scapy reads the routes over netlink and logs a warning where it finds them odd. Building and reading frames
needs none of that (all addresses are given), and a run should not depend on what routes a machine has. So a stand-in
takes the place of each table, and its first real use loads scapy's own: scripts that send with scapy keep working.
"""

import importlib
from typing import Any

from scapy.config import conf


class _LazyTable:
    """Stands in `scapy.config.conf` for a routing table until an attribute of it is used."""

    def __init__(self, name: str, module: str) -> None:
        self.__dict__.update(_name=name, _module=module)

    def __bool__(self) -> bool:
        return False  # how scapy asks whether the table is loaded

    def __getattr__(self, attribute: str) -> Any:
        setattr(conf, self._name, None)
        importlib.import_module(self._module)  # puts the real table into conf
        return getattr(getattr(conf, self._name), attribute)


def defer_routes() -> None:
    """Put the stand-ins into scapy's configuration, unless it has loaded its tables already."""
    for name, module in (("route", "scapy.route"), ("route6", "scapy.route6")):
        if getattr(conf, name) is None:
            setattr(conf, name, _LazyTable(name, module))


defer_routes()
