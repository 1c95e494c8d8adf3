"""Hosts that are containers: made before the sandbox, used from inside it, removed when the run is over.

The Docker engine lives outside the sandbox, and inside neither its socket (below /run) nor its processes are to be
seen. So all that the inside needs of a container is opened before, and inherited as files:

    its network namespace    the fabric's interface is moved there by it
    a shell in it            a terminal of the engine's (``docker exec -it``), by the connection that carries it

A *janitor*, forked before the sandbox too, holds the engine's client. It waits until the last process of the run has
gone (a pipe of theirs closes then, even after SIGKILL) and removes the containers. Should it be killed itself, the next
start finds its containers by their label: the label names the janitor, and containers of one that is not alive are
removed. Nothing else is touched.

The interface goes into a namespace that belongs to the machine, so this needs root; the engine needs nothing: its
containers have no network of their own (``--network none``).
"""

import os
import signal
import socket
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.errors import MachineError
from testbed.fabric.plan import FabricPlan
from testbed.outside.process import start_time
from testbed.scenario.hosts import ContainerHosts, HostOptions

LABEL = "rocelab.janitor"
"""Of every container: its janitor's process id and start time."""

_LOOP = """
trap : INT
while :; do
    printf '\\177'
    IFS= read -r line || [ $? -gt 128 ] || exit
    eval "$line"
done
"""
_SHELL = [
    "sh",
    "-c",
    f"export PS1='\x7f' TERM=dumb; command -v bash >/dev/null && exec bash --norc --noediting -is; {_LOOP}",
]
"""A shell that Mininet can drive: the character 127 says that a command is over. Not every shell prompts with it
plainly, so where there is no bash, a loop does."""

_TOO_BUSY_S = 60


@dataclass(frozen=True, slots=True)
class Container:
    """A host's container as the inside of the sandbox has it: files of its network namespace and of a shell in it."""

    host: str
    identifier: str
    namespace: int
    shell: int


class Containers:
    """The containers of a run. A context manager: leaving it removes them."""

    def __init__(self, plan: FabricPlan, options: ContainerHosts) -> None:
        """Say which hosts of `plan` are to be containers, of which image."""
        self.by_host: dict[str, Container] = {}
        self._plan = plan
        self._options = options
        self._janitor: _Janitor | None = None

    def __enter__(self) -> "Containers":
        if os.geteuid() != 0:
            raise MachineError(
                "hosts that are containers need root: the fabric's interfaces go into namespaces of the machine\n"
                "  sudo ./rocelab ..."
            )
        engine = _engine()
        _remove_orphans(engine)
        self._janitor = _Janitor()
        try:
            for host in _chosen(self._plan, self._options):
                self.by_host[host] = self._start(engine, host)
        except BaseException:
            self._janitor.close()
            raise
        finally:
            engine.close()
        return self

    def __exit__(self, *_: object) -> None:
        for container in self.by_host.values():
            os.close(container.namespace)
            os.close(container.shell)
        if self._janitor is not None:
            self._janitor.close()

    def _start(self, engine: Any, host: str) -> Container:
        from docker.errors import APIError, ImageNotFound

        options, janitor = self._options, self._janitor
        assert janitor is not None
        try:
            container = engine.containers.create(
                options.image,
                command=["sleep", "infinity"],
                entrypoint="",
                hostname=host,
                network_mode="none",
                extra_hosts=_names(self._plan),
                labels={LABEL: janitor.name},
                nano_cpus=None if options.cpus is None else int(options.cpus * 1e9),
                mem_limit=options.memory,
                cap_add=["NET_ADMIN", "NET_RAW"],
                init=True,
            )
            janitor.remember(container.id)
            container.start()
            container.reload()
            return Container(host, container.id, _namespace(container), _shell(engine, container.id))
        except ImageNotFound:
            raise MachineError(
                f"the Docker engine has no image {options.image!r} (fabric.host.image)\n"
                f"  docker pull {options.image}, or docker build --tag {options.image} ..."
            ) from None
        except APIError as error:
            raise MachineError(f"host {host}: the Docker engine refused its container: {error.explanation}") from None


def _chosen(plan: FabricPlan, options: ContainerHosts) -> Sequence[str]:
    return [host.name for host in plan.hosts] if options.hosts == "all" else options.hosts


def _names(plan: FabricPlan) -> dict[str, str]:
    """Return the addresses of all hosts, for /etc/hosts of each."""
    return {host.name: host.nics[0].ipv4 if plan.ip_version == 4 else host.nics[0].ipv6 for host in plan.hosts}


def _engine() -> Any:
    """Return a client of the Docker engine that the environment names. Raises MachineError where none answers."""
    import docker
    from docker.errors import DockerException

    try:
        engine = docker.from_env(timeout=_TOO_BUSY_S)
        engine.ping()
    except DockerException as error:
        where = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
        raise MachineError(
            f"no Docker engine answers at {where}: {error}\n"
            "  sudo apt-get install docker.io && sudo systemctl start docker, or set DOCKER_HOST to one that runs"
        ) from None
    return engine


def _namespace(container: Any) -> int:
    pid = int(container.attrs["State"]["Pid"])
    file = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    os.set_inheritable(file, True)
    return file


def _shell(engine: Any, identifier: str) -> int:
    """Start a shell in a container; return the file of its terminal."""
    api = engine.api
    made = api.exec_create(identifier, _SHELL, stdin=True, tty=True)
    connection = api.exec_start(made["Id"], tty=True, socket=True)
    plain = getattr(connection, "_sock", connection)
    if not isinstance(plain, socket.socket):
        raise MachineError("containers as hosts need a Docker engine on a socket of this machine, not one behind TLS")
    file = os.dup(plain.fileno())
    os.set_blocking(file, True)
    os.set_inheritable(file, True)
    return file


def _remove_orphans(engine: Any) -> None:
    """Remove containers of janitors that are not alive any more."""
    for container in engine.containers.list(all=True, filters={"label": LABEL}):
        pid, _, started = container.labels[LABEL].partition(" ")
        if start_time(int(pid)) != started:
            _remove(engine, container.id)


def _remove(engine: Any, identifier: str) -> None:
    from docker.errors import APIError, NotFound

    try:
        engine.api.remove_container(identifier, force=True, v=True)
    except NotFound:
        pass
    except APIError as error:
        print(f"rocelab: container {identifier[:12]} could not be removed: {error.explanation}", flush=True)


def containers_of(plan: FabricPlan, options: HostOptions | None) -> Containers | nullcontext[None]:
    """Return the containers that hosts of `plan` are to be, as a context; nothing where there are none."""
    return Containers(plan, options) if isinstance(options, ContainerHosts) else nullcontext()


class _Janitor:
    """A process that removes containers when everything else of the run has ended. `name`: what the label says."""

    def __init__(self) -> None:
        alive, self._alive = os.pipe()  # the write end is every other process's, the read end the janitor's
        self._pid = os.fork()
        if self._pid == 0:
            status = 1
            try:
                os.close(self._alive)
                os.setsid()
                for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                    signal.signal(number, signal.SIG_IGN)
                _tidy(alive)
                status = 0
            finally:
                os._exit(status)
        os.close(alive)
        os.set_inheritable(self._alive, True)
        self.name = f"{self._pid} {start_time(self._pid)}"

    def remember(self, identifier: str) -> None:
        """Have a container removed at the end."""
        os.write(self._alive, f"{identifier}\n".encode())

    def close(self) -> None:
        """Have all removed now, if no other process of the run is left; wait until that is done."""
        os.close(self._alive)
        os.waitpid(self._pid, 0)


def _tidy(alive: int) -> None:
    """Read identifiers until every writer has gone; then remove those containers."""
    with os.fdopen(alive) as lines:
        identifiers = [line.strip() for line in lines]
    if identifiers:
        engine = _engine()
        for identifier in identifiers:
            _remove(engine, identifier)


def show_namespaces(containers: Mapping[str, Container], folder: Path = Path("/run/netns")) -> None:
    """Name the containers' namespaces as ``ip`` knows names, inside the sandbox."""
    folder.mkdir(parents=True, exist_ok=True)
    for host, container in containers.items():
        (folder / host).symlink_to(f"/proc/1/fd/{container.namespace}")
