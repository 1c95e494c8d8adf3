"""The replay of captured packets in a scenario's workload."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from testbed.scenario.files import FileName
from testbed.scenario.quantities import TimePs
from testbed.scenario.section import Section


def _text_or_factor(value: Any) -> str:
    return "text" if isinstance(value, str) else "factor"


class PacketReplay(Section):
    """The RoCEv2 packets of the capture `file`, sent again by hosts of the fabric.

    `map`: which host has the place of each IP address; none: hosts in the order in which addresses appear. `speed`: how
    much faster than captured; or each host sends at its link's rate. `start`: when the first one is sent.
    """

    kind: Literal["replay"]
    name: str | None = Field(default=None, min_length=1, examples=["captured"])
    start: TimePs = 0
    file: FileName = Field(examples=["captures/two-writes.pcapng"])
    map: dict[Annotated[str, Field(examples=["10.0.0.1"])], Annotated[str, Field(examples=["h0"])]] = Field(
        default_factory=dict, examples=[{"10.0.0.1": "h0"}]
    )
    speed: Annotated[
        Annotated[Literal["as-fast-as-possible"], Tag("text")]
        | Annotated[float, Field(gt=0, le=1_000_000, examples=[0.5]), Tag("factor")],
        Discriminator(_text_or_factor),
    ] = 1.0
