"""Fabrics for property tests: any topology, any parameters that stay small."""

from typing import Any

from hypothesis import strategies as st

from testbed.scenario.model import FabricOptions

_TOPOLOGIES: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.fixed_dictionaries({"kind": st.just("single-switch"), "hosts": st.integers(2, 40)}),
    st.fixed_dictionaries({"kind": st.just("dumbbell"), "left": st.integers(1, 20), "right": st.integers(1, 20)}),
    st.fixed_dictionaries(
        {
            "kind": st.just("leaf-spine"),
            "leaves": st.integers(1, 6),
            "spines": st.integers(1, 6),
            "hosts_per_leaf": st.integers(1, 6),
        }
    ),
    st.fixed_dictionaries({"kind": st.just("fat-tree"), "k": st.sampled_from([2, 4, 6])}),
    st.fixed_dictionaries(
        {"kind": st.just("ring"), "switches": st.integers(3, 12), "hosts_per_switch": st.integers(1, 4)}
    ),
)


def fabrics() -> st.SearchStrategy[FabricOptions]:
    """Options of any topology with 1 to 3 NICs a host."""
    return st.builds(
        lambda topology, nics, ip: FabricOptions.model_validate(
            {"topology": topology, "nics_per_host": nics, "ip": ip}
        ),
        _TOPOLOGIES,
        st.integers(1, 3),
        st.sampled_from(["ipv4", "ipv6"]),
    )


def fabric(kind: str, nics_per_host: int = 1, link: dict[str, str] | None = None, **parameters: Any) -> FabricOptions:
    """The options of one fabric, as a scenario would give them."""
    return FabricOptions.model_validate(
        {"topology": {"kind": kind, **parameters}, "nics_per_host": nics_per_host, "link": link or {}}
    )
