"""Replays over a modelled fabric: the capture's timing, what is counted, and that nobody answers."""

from pathlib import Path

import pytest

from testbed.scenario.model import Work
from testbed.scenario.replay import PacketReplay
from tests.traffic.collectives.kit import Bench, ring, star
from tests.traffic.replay.kit import MICROSECOND, Captured, acknowledgement, pcap, sends, spaced, with_wrong_icrc
from tests.traffic.wire.vectors import CAPTURE, CNP
from traffic.results import ReplayResult


def replay(file: Path, **options: object) -> PacketReplay:
    return PacketReplay.model_validate({"kind": "replay", "file": str(file), **options})


def made(tmp_path: Path, *frames: Captured) -> Path:
    file = tmp_path / "some.pcap"
    file.write_bytes(pcap(*frames))
    return file


def result(bench: Bench, job: int = 0) -> ReplayResult:
    bench.run()
    found = bench.jobs[job].result()
    assert isinstance(found, ReplayResult)
    return found


def test_a_real_capture() -> None:
    """Ten flows of soft-RoCE; the fabric takes 100 Gb/s, so each frame's way takes as long as it would alone."""
    found = result(Bench(star(2), replay(CAPTURE)))
    assert (found.packets, found.sent, found.delivered, found.dropped) == (120, 120, 120, {})
    assert (found.out_of_order, found.marked, found.wrong_icrc, found.latest_wait_ps) == (0, 0, 0, 0)
    assert found.hosts == {"10.9.0.1": "h0", "10.9.0.2": "h1"}
    assert len(found.flows) == 10
    assert found.delivery_span_ps == pytest.approx(found.file_span_ps, rel=1e-6)


def test_latency_is_that_of_the_way(tmp_path: Path) -> None:
    """Two links of 100 Gb/s and 500 ns, a switch of 800 ns: frame, FCS, preamble and gap twice."""
    (frame,) = sends(1, payload=1024)
    found = result(Bench(star(2), replay(made(tmp_path, Captured(0, frame)))))
    assert found.latencies_ps == (2 * (len(frame) + 24) * 80 + 2 * 500_000 + 800_000,)


@pytest.mark.parametrize(("speed", "gap_ps"), [(1.0, 7 * MICROSECOND), (0.5, 14 * MICROSECOND), (2, 3_500_000)])
def test_speed_scales_the_gaps(tmp_path: Path, speed: float, gap_ps: int) -> None:
    file = made(tmp_path, *spaced(sends(5), gap_ns=7000))
    found = result(Bench(star(2), replay(file, speed=speed, start="3us")))
    assert found.file_span_ps == 28 * MICROSECOND
    assert found.delivery_span_ps == 4 * gap_ps
    assert found.start_ps == 3 * MICROSECOND
    assert found.end_ps == 3 * MICROSECOND + 4 * gap_ps + found.latencies_ps[0]


def test_as_fast_as_possible_is_the_rate_of_the_link(tmp_path: Path) -> None:
    frames = sends(10, payload=1024)
    found = result(Bench(star(2), replay(made(tmp_path, *spaced(frames, 10**6)), speed="as-fast-as-possible")))
    assert found.delivery_span_ps == 9 * (len(frames[0]) + 24) * 80
    assert found.latest_wait_ps == found.delivery_span_ps


def test_nobody_answers(tmp_path: Path) -> None:
    """Packets with holes, for queue pairs that do not exist, with acknowledgements asked for: nothing comes back."""
    frames = [*sends(3), *sends(3, first_psn=100), acknowledgement(), CNP]
    bench = Bench(star(2), replay(made(tmp_path, *spaced(frames))))
    found = result(bench)
    assert found.delivered == 8
    assert sum(wire.sent_frames for wire in bench.fabric.transmitters.values()) == 2 * 8
    assert (bench.total("sent_data_packets"), bench.total("received_data_packets")) == (6, 6)
    assert (bench.total("np_cnp_sent"), bench.total("rp_cnp_ignored"), bench.total("out_of_sequence")) == (1, 1, 0)
    assert bench.drops == []


def test_a_lost_packet(tmp_path: Path) -> None:
    bench = Bench(star(2), replay(made(tmp_path, *spaced(sends(10)))))
    bench.lose("h0-eth0", {2, 5}.__contains__)
    found = result(bench)
    assert (found.sent, found.delivered, found.dropped) == (10, 8, {"fault": 2})
    (flow,) = found.flows
    assert flow.dropped == {"fault": 2}
    assert bench.total("retransmitted_packets") == 0


def test_the_last_packet_lost_is_an_end_too(tmp_path: Path) -> None:
    bench = Bench(star(2), replay(made(tmp_path, *spaced(sends(3)))))
    bench.lose("h0-eth0", {2}.__contains__)
    assert result(bench).dropped == {"fault": 1}


def test_a_wrong_icrc_is_dropped_by_the_receiver(tmp_path: Path) -> None:
    first, second = sends(2)
    bench = Bench(star(2), replay(made(tmp_path, *spaced([first, with_wrong_icrc(second)]))))
    found = result(bench)
    assert (found.sent, found.delivered, found.wrong_icrc, found.dropped) == (2, 1, 1, {"icrc": 1})
    assert bench.total("rx_icrc_encapsulated") == 1


def test_marks_of_the_fabric_and_those_of_the_capture(tmp_path: Path) -> None:
    """A step at 8 KiB marks whatever meets a longer queue; what had been marked before is told apart."""
    qos = {"ecn": {0: {"kmin": "8KiB", "kmax": "8KiB", "pmax": 1}}}
    ect, ce = sends(40, payload=4096, traffic_class=2), sends(2, payload=4096, traffic_class=3)
    bench = Bench(
        {"topology": {"kind": "single-switch", "hosts": 3}, "qos": qos},
        replay(
            made(tmp_path, *spaced([*ce, *ect])), speed="as-fast-as-possible", map={"10.0.0.1": "h0", "10.0.0.2": "h2"}
        ),
        replay(tmp_path / "some.pcap", speed="as-fast-as-possible", map={"10.0.0.1": "h1", "10.0.0.2": "h2"}),
    )
    found = [result(bench, job) for job in (0, 1)]
    assert all(0 < each.marked <= 40 for each in found)
    assert sum(each.marked for each in found) == bench.total("np_ecn_marked_roce_packets")
    assert sum(flow.marked_before for each in found for flow in each.flows) == 4


def test_the_map(tmp_path: Path) -> None:
    found = result(Bench(star(4), replay(made(tmp_path, *spaced(sends(2))), map={"10.0.0.2": "h0", "10.0.0.1": "h3"})))
    assert [(flow.source, flow.destination, flow.frames) for flow in found.flows] == [("h3", "h0", 2)]
    assert found.hosts == {"10.0.0.1": "h3", "10.0.0.2": "h0"}


@pytest.mark.parametrize("ip", ["ipv4", "ipv6"])
def test_beside_a_collective_with_the_same_queue_pairs(tmp_path: Path, ip: str) -> None:
    """The capture's packets are for QP 17, which the collective has too: neither takes the other's."""
    frames = sends(200, payload=4096, destination_qp=17)
    works: list[Work] = [replay(made(tmp_path, *spaced(frames, gap_ns=100))), ring(2**18)]
    bench = Bench(star(4, ip=ip), *works)
    found = result(bench)
    assert (found.delivered, found.out_of_order) == (200, 0)
    collective = bench.jobs[1].result()
    assert not isinstance(collective, ReplayResult)
    assert collective.verified
    assert bench.total("retransmitted_packets") == bench.total("out_of_sequence") == 0
    needed = sum(job.data_packets for job in bench.jobs)
    assert bench.total("sent_data_packets") == bench.total("received_data_packets") == needed


def test_two_runs_are_equal(tmp_path: Path) -> None:
    file = made(tmp_path, *spaced(sends(50), gap_ns=333))
    first, again = (result(Bench(star(2), replay(file), ring(2**16))) for _ in range(2))
    assert first == again


def test_given_up(tmp_path: Path) -> None:
    """A deadlock: what was not sent is not sent any more."""
    bench = Bench(star(2), replay(made(tmp_path, *spaced(sends(10), gap_ns=10_000))))
    bench.loop.run(until_ps=35 * MICROSECOND)
    (job,) = bench.jobs
    assert job.waiting_for() == "replay (workload.0): 6 of 10 packets, which neither arrived nor were lost"
    job.give_up("the fabric stands still")
    bench.loop.run()
    found = job.result()
    assert isinstance(found, ReplayResult)
    assert found.failure == "the fabric stands still"
    assert (found.packets, found.sent) == (10, 4)
