"""What a host is: a network namespace of this machine, a container, or the machine itself with Soft-RoCE."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from testbed.scenario.quantities import SizeBytes
from testbed.scenario.section import Section


def _all_or_names(value: Any) -> str:
    return "all" if isinstance(value, str) else "names"


Hosts = Annotated[
    Annotated[Literal["all"], Tag("all")]
    | Annotated[
        tuple[Annotated[str, Field(examples=["h0"])], ...], Field(min_length=1, examples=["[h0, h1]"]), Tag("names")
    ],
    Discriminator(_all_or_names),
]


class NamespaceHosts(Section):
    """Hosts see this machine's files and programs, and have a network of their own."""

    kind: Literal["namespace"]


class ContainerHosts(Section):
    """Hosts are containers of a Docker engine, of `image`: all, or those listed; the others are namespaces.

    `cpus`: how many processors each may use; `memory`: how much memory (none: no limit).
    """

    kind: Literal["container"]
    image: str = Field(min_length=1, examples=["debian:bookworm-slim"])
    hosts: Hosts = "all"
    cpus: float | None = Field(default=None, gt=0, examples=[0.5])
    memory: SizeBytes | None = Field(default=None, ge=6 * 2**20, examples=["256MiB"])


class SoftRoceHosts(Section):
    """In ``rocelab live`` hosts use the kernel's own RDMA, Soft-RoCE (rxe): all, or those listed. The others, and in
    ``rocelab run`` all, are namespaces. Their interfaces are in the machine's own network namespace, the only one that
    rxe serves."""

    kind: Literal["soft-roce"]
    hosts: Hosts = "all"


HostOptions = Annotated[NamespaceHosts | ContainerHosts | SoftRoceHosts, Field(discriminator="kind")]
