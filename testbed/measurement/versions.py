"""Which versions a result was made with: part of every summary."""

import platform
from importlib.metadata import PackageNotFoundError, version

_LIBRARIES = ("mininet", "scapy", "numpy")


def versions(*, open_vswitch: str, controller: str) -> dict[str, str]:
    """Return name to version of rocelab, Python, the libraries that shape results, Open vSwitch and the controller
    (``os-ken 4.2.2``)."""
    libraries = {name: _version(name) for name in _LIBRARIES}
    return {
        "rocelab": _version("rocelab"),
        "python": platform.python_version(),
        **libraries,
        "open_vswitch": open_vswitch,
        "controller": controller,
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed as a package"
