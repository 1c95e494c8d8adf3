"""The NVLink domain of a host: its times in closed form, and what it does to a collective."""

import pytest

from testbed.engine.loop import EventLoop
from testbed.scenario.model import NvlinkOptions
from tests.traffic.collectives.kit import Bench, star
from tests.traffic.collectives.test_collectives import collective
from traffic.nvlink import NvlinkDomain, nvlink_domains

OPTIONS = NvlinkOptions.model_validate({"rate": "800Gbps", "latency": "1us"})  # 100 bytes in a nanosecond


class Scene:
    """A domain, and who got what when, in ns."""

    def __init__(self) -> None:
        self.loop = EventLoop()
        self.domain = NvlinkDomain("h0", OPTIONS, self.loop)
        self.arrived: list[tuple[str, int]] = []

    def send(self, source: int, destination: int, size: int, name: str) -> None:
        self.domain.send(source, destination, size, self._deliver, name)

    def _deliver(self, name: str) -> None:
        self.arrived.append((name, self.loop.now // 1000))


def test_a_message_alone() -> None:
    scene = Scene()
    scene.send(0, 1, 100_000, "a")
    scene.loop.run()
    assert scene.arrived == [("a", 1000 + 1000)]  # latency, and 100 kB at 100 B/ns


def test_two_from_one_gpu_take_turns_and_both_directions_are_free() -> None:
    scene = Scene()
    scene.send(0, 1, 100_000, "a")
    scene.send(0, 2, 50_000, "b")
    scene.send(1, 0, 100_000, "c")
    scene.loop.run()
    assert scene.arrived == [("a", 2000), ("c", 2000), ("b", 2500)]


def test_two_to_one_gpu_take_turns() -> None:
    scene = Scene()
    scene.send(0, 2, 100_000, "a")
    scene.send(1, 2, 50_000, "b")
    scene.loop.run()
    assert scene.arrived == [("a", 2000), ("b", 2500)]


def test_what_went_in_comes_out() -> None:
    scene = Scene()
    for number in range(5):
        scene.send(number, (number + 1) % 5, 1000 * number, str(number))
    scene.loop.run()
    found = scene.domain.statistics()
    assert (found.sent_messages, found.delivered_messages) == (5, 5)
    assert found.sent_bytes == found.delivered_bytes == 10_000
    assert found.busiest_port_ps == 40_000


def test_there_is_none_unless_it_is_asked_for() -> None:
    assert nvlink_domains(None, ["h0"], EventLoop()) == {}
    assert list(nvlink_domains(OPTIONS, ["h0", "h1"], EventLoop())) == ["h0", "h1"]


# --- below a collective ----------------------------------------------------------------------------------------------

NVLINK = {"rate": "3600Gbps", "latency": "1us"}


def test_ranks_of_one_host_use_no_packets() -> None:
    work = collective("all-reduce", 2**20, ranks=("h0.0", "h0.1", "h0.2"), iterations=4)
    bench = Bench(star(2, nvlink=NVLINK), work)
    result = bench.collective()
    assert result.verified
    assert bench.total("sent_data_packets") == 0 == sum(job.data_packets for job in bench.jobs)
    assert {message.queue_pair for message in result.messages} == {None}
    sent = 4 * 2 * 2 * 2**20  # 2 (n - 1) S / n bytes a rank, n ranks, four times
    assert bench.domains["h0"].statistics().delivered_bytes == pytest.approx(sent, rel=1e-5)
    assert result.time_ps == result.ideal_ps


def test_a_ring_crosses_the_network_once_a_host() -> None:
    work = collective("all-reduce", 2**20, ranks={"per_host": 4})
    bench = Bench(star(2, nvlink=NVLINK), work)
    result = bench.collective()
    pairs = {(m.source, m.destination) for m in result.messages if m.queue_pair is not None}
    assert pairs == {("h0.3", "h1.0"), ("h1.3", "h0.0")}
    assert result.ranks == ("h0.0", "h0.1", "h0.2", "h0.3", "h1.0", "h1.1", "h1.2", "h1.3")


def test_local_rank_g_uses_nic_g() -> None:
    work = collective("all-to-all", 2**18, ranks={"per_host": 4})
    bench = Bench(star(2, nvlink=NVLINK, nics_per_host=2), work)
    result = bench.collective()
    assert {(m.source, m.nic) for m in result.messages if m.nic and m.source.startswith("h0")} == {
        ("h0.0", "h0-eth0"), ("h0.1", "h0-eth1"), ("h0.2", "h0-eth0"), ("h0.3", "h0-eth1"),
    }  # fmt: skip
    assert all(nic.statistics()["sent_data_packets"] > 0 for nic in bench.nics.values())
