"""Python and its libraries: are they those that were tested? Part of what `rocelab doctor` looks at.

The pins are read from requirements/run.lock. Every library is imported, in a process of its own: one built for another
processor or C library may be installed and yet end the process that imports it.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from testbed.outside.check import Check

ROOT = Path(__file__).parents[2]
REINSTALL = "rm -r .venv && ./rocelab doctor"
OLDEST_PYTHON = (3, 10)

LIBRARIES = {
    "mininet": "mininet.net",
    "os-ken": "os_ken.base.app_manager",
    "eventlet": "eventlet",
    "scapy": "scapy.packet",
    "pydantic": "pydantic",
    "ruamel-yaml": "ruamel.yaml",
    "click": "click",
    "rich": "rich",
    "numpy": "numpy",
    "pyarrow": "pyarrow.parquet",
    "python-pcapng": "pcapng",
    "isal": "isal.isal_zlib",
    "protobuf": "google.protobuf.message",
    "docker": "docker",
    "packaging": "packaging",
    "setuptools": "setuptools",
}
"""What pyproject.toml depends on: its name there, and a module of it that a run imports."""

_IMPORTER = """
import importlib, sys, warnings
warnings.simplefilter("ignore")
for module in sys.argv[1:]:
    try:
        importlib.import_module(module)
        print(module, "ok", flush=True)
    except Exception as error:
        print(module, f"{type(error).__name__}: {error}".splitlines()[0], flush=True)
"""

_RYU = "from controllers.ryu_compat import use_ryu; flavour = use_ryu(); print(flavour.name, flavour.version)"


def python_check() -> Check:
    """Return whether this Python is one that rocelab runs on."""
    found = f"{sys.version.split()[0]} ({sys.executable})"
    ok = sys.version_info[:2] >= OLDEST_PYTHON
    return Check("Python", ok, True, found, "" if ok else "sudo apt-get install python3 python3-venv")


def library_checks() -> list[Check]:
    """Return for each library whether it can be imported, and whether it has the version of the lock."""
    pins = read_pins((ROOT / "requirements" / "run.lock").read_text())
    outcome = import_outcomes(list(LIBRARIES.values()))
    return [_library_check(name, pins[name], outcome[module]) for name, module in LIBRARIES.items()]


def _library_check(name: str, pin: str, outcome: str) -> Check:
    try:
        installed = version(name)
    except PackageNotFoundError:
        return Check(name, False, True, "not installed", REINSTALL)
    if outcome != "ok":
        return Check(name, False, True, f"{installed}: {outcome}", REINSTALL)
    if installed != pin:  # it may well work, but it is not what was tested
        return Check(name, False, False, f"{installed}; tested with {pin}", REINSTALL)
    return Check(name, True, True, installed)


def read_pins(lock: str, environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return name to version of the lines of a lock file that hold here, or where `environment` (PEP 508) describes."""
    pins: dict[str, str] = {}
    for line in lock.splitlines():
        if "==" not in line or line.startswith((" ", "#")):
            continue
        requirement = Requirement(line.rstrip("\\ "))
        if requirement.marker is None or requirement.marker.evaluate(dict(environment) if environment else None):
            pins[canonicalize_name(requirement.name)] = str(requirement.specifier).removeprefix("==")
    return pins


def import_outcomes(modules: list[str]) -> dict[str, str]:
    """Import each module in a process apart; return ``ok`` or what happened, by module."""
    outcomes: dict[str, str] = {}
    while left := [module for module in modules if module not in outcomes]:
        done = _python(_IMPORTER, *left)
        outcomes |= dict(line.split(" ", 1) for line in done.stdout.splitlines() if line.split(" ")[0] in left)
        unsaid = [module for module in left if module not in outcomes]
        if unsaid:  # the process ended in the first of these; go on after it
            outcomes[unsaid[0]] = f"its import ends the process (status {done.returncode})"
    return outcomes


def controller_check() -> Check:
    """Return which Ryu a controller would get, started as a run does it."""
    done = _python(_RYU)
    if done.returncode == 0:
        return Check("controller", True, True, done.stdout.strip())
    lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
    return Check("controller", False, True, lines[-1], REINSTALL)


def _python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments]
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(command, capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL)
