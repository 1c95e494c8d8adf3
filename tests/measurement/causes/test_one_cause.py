"""Scenarios that are built to have one cause: it is found, with its port, flow or packet, and has nearly all."""

import pytest

from testbed.measurement.causes import model
from tests.measurement.causes.kit import Explained, flow, flows, star

ECN = {"kmin": "20KB", "kmax": "80KB", "pmax": 1.0}


def test_nothing_is_lost_alone() -> None:
    run = Explained(fabric=star(2), workload=flows(flow("h0", "h1", "1MiB")))
    assert [stall.stall_ps for stall in run.explanation.stalls] == [0]
    assert run.explanation.stalls[0].parts == ()


def test_a_queue_shared_with_a_flow() -> None:
    """Two flows into one port: each is delayed by the other's packets there, and by nothing else."""
    run = Explained(fabric=star(3), workload=flows(flow("h0", "h2", "1MiB"), flow("h1", "h2", "1MiB")))
    main = run.main(at_least=0.999)
    assert (main.kind, main.where) == (model.QUEUE, "leaf0-eth3")
    behind = [run.explanation.causes[stall.parts[0].cause].detail for stall in run.explanation.stalls]
    assert behind == ["behind h1 to h2", "behind h0 to h2"]


def test_a_nic_shared_with_a_flow() -> None:
    """Two flows out of one NIC take turns at it."""
    run = Explained(fabric=star(3), workload=flows(flow("h0", "h1", "1MiB"), flow("h0", "h2", "1MiB")))
    main = run.main()
    assert (main.kind, main.where) == (model.QUEUE, "h0-eth0")
    assert {cause.detail for cause in run.costs() if cause.where == "h0-eth0"} >= {"behind h0 to h1", "behind h0 to h2"}


def test_a_flow_is_told_from_another_of_the_same_hosts() -> None:
    """The second comes while the first is under way: it waits behind it, not behind packets of its own."""
    run = Explained(fabric=star(2), workload=flows(flow("h0", "h1", "4MiB"), flow("h0", "h1", "64KiB", "20us")))
    second = run.explanation.stalls[1]
    assert run.explanation.causes[second.parts[0].cause].kind == model.QUEUE
    assert second.parts[0].duration_ps > 0.95 * second.stall_ps


def test_a_pause_storm() -> None:
    run = Explained(
        fabric=star(2, qos={"pfc": {}}),
        workload=flows(flow("h0", "h1", "256KiB")),
        faults=[{"kind": "pause-storm", "port": "h1-eth0", "at": "5us", "until": "1ms"}],
    )
    main = run.main(at_least=0.99)
    assert (main.kind, main.where, main.origin) == (model.PAUSED, "leaf0-eth2", "h1-eth0")
    assert "a pause storm" in main.detail


def test_a_pause_that_has_spread() -> None:
    """h0's packets to h3 never meet the storm at h2's port; they stand still all the same, where its pauses reach."""
    fabric = {
        "topology": {"kind": "dumbbell", "left": 2, "right": 2, "core": {"rate": "400Gbps"}},
        "switch": {"buffer": "1MiB"},
        "qos": {"pfc": {}},
    }
    run = Explained(
        fabric=fabric,
        transport={"timeout": 16},
        workload=flows(flow("h0", "h2", "4MiB"), flow("h1", "h3", "4MiB")),
        faults=[{"kind": "pause-storm", "port": "h2-eth0", "at": "5us", "until": "5ms"}],
    )
    victim = run.explanation.stalls[1]
    origins = {run.explanation.causes[part.cause].origin: part.duration_ps for part in victim.parts}
    assert origins["h2-eth0"] > 0.95 * victim.stall_ps


@pytest.mark.parametrize("kind", ["dcqcn", "dctcp"])
def test_congestion_control(kind: str) -> None:
    """Two senders are marked at the port that they share, and slow down more than they had to."""
    congestion = {"kind": kind, "max_window": "64KiB", "initial_window": "64KiB"} if kind == "dctcp" else {"kind": kind}
    if kind == "dctcp":
        run = Explained(
            fabric=star(2, qos={}, link={"rate": "100Gbps", "delay": "50us"}),
            transport={"traffic_class": 106, "congestion": congestion},
            workload=flows(flow("h0", "h1", "1MiB")),
        )
        main = run.main()
        assert (main.kind, main.where) == (model.WINDOW, "h0-eth0")
        return
    run = Explained(
        fabric=star(3, qos={"ecn": {3: ECN}}),
        transport={"traffic_class": 106, "congestion": congestion},
        workload=flows(flow("h0", "h2", "4MiB"), flow("h1", "h2", "4MiB")),
    )
    kinds: dict[str, int] = {}
    for cause, cost in run.costs().items():
        kinds[cause.kind] = kinds.get(cause.kind, 0) + cost
        if cause.kind == model.RATE:
            assert (cause.origin, cause.where[:1]) == ("leaf0-eth3", "h")
            assert "marks at leaf0-eth3" in cause.detail
    assert kinds[model.RATE] > 0.95 * sum(kinds.values())


def test_a_lost_packet_that_a_nak_reports() -> None:
    run = Explained(
        fabric=star(2),
        workload=flows(flow("h0", "h1", "256KiB")),
        faults=[{"kind": "drop", "port": "h0-eth0", "frames": "data", "nth": 20}],
    )
    main, packet = run.main(), run.main().packet
    assert (main.kind, main.where) == (model.LOST_PACKET, "h0-eth0")
    assert packet is not None
    assert (packet.source, packet.destination, packet.psn, packet.reason) == ("h0", "h1", 19, "fault")
    assert packet.found_by == "nak"
    assert packet.lost_ps == run.drops[0].time_ps
    assert packet.qp == run.drops[0].qp


def test_a_lost_packet_that_a_timeout_reports() -> None:
    """The last one: nothing comes behind it that would show the gap. Its sender waits for 4.096 us * 2^10."""
    run = Explained(
        fabric=star(2),
        transport={"timeout": 10},
        workload=flows(flow("h0", "h1", "256KiB")),
        faults=[{"kind": "drop", "port": "leaf0-eth2", "frames": "data", "nth": 64}],
    )
    main = run.main(at_least=0.999)
    assert (main.kind, main.where) == (model.LOST_PACKET, "leaf0-eth2")
    assert main.packet is not None
    assert (main.packet.psn, main.packet.found_by) == (63, "timeout")
    assert main.packet.found_ps - main.packet.first_sent_ps >= 4_096_000 << 10


def test_packets_that_are_lost_again_and_again() -> None:
    """Each loss has a recovery of its own, with its packet."""
    run = Explained(
        fabric=star(2),
        workload=flows(flow("h0", "h1", "256KiB")),
        faults=[{"kind": "drop", "port": "h0-eth0", "frames": "data", "nth": nth} for nth in (10, 30, 50)],
    )
    assert run.main().kind == model.LOST_PACKET
    packets = [cause.packet for cause in run.costs() if cause.packet is not None]
    assert sorted(packet.lost_ps or 0 for packet in packets) == [drop.time_ps for drop in run.drops]


def test_a_link_that_is_down() -> None:
    run = Explained(
        fabric=star(2),
        transport={"timeout": 10},
        workload=flows(flow("h0", "h1", "256KiB")),
        faults=[{"kind": "link-down", "link": "h1-leaf0", "at": "10us", "until": "30us"}],
    )
    main = run.main()
    assert main.kind == model.LINK_DOWN
    assert main.where in ("leaf0-eth2", "h1-eth0")


def test_a_link_without_credit() -> None:
    """Three hosts send to h4, faster than it takes; what h3 sends to h5 comes the same way, and has no credit."""
    fabric = {
        "topology": {"kind": "dumbbell", "left": 4, "right": 2, "core": {"rate": "400Gbps"}},
        "switch": {"buffer": "512KiB"},
        "qos": {"credits": {}},
    }
    senders = [flow(f"h{n}", "h4", "2MiB") for n in range(3)]
    run = Explained(fabric=fabric, workload=flows(*senders, flow("h3", "h5", "512KiB", "20us")))
    victim = run.explanation.stalls[3]
    costs = {run.explanation.causes[part.cause]: part.duration_ps for part in victim.parts}
    without = {cause: cost for cause, cost in costs.items() if cause.kind == model.CREDIT}
    assert sum(without.values()) > 0.6 * victim.stall_ps
    assert {(cause.where, cause.detail) for cause in without} <= {
        ("left0-eth5", "no credit from right0-eth3"),
        ("h3-eth0", "no credit from left0-eth4"),
    }


def test_what_is_forgotten_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log of hops is cut back again and again, and the explanation is the same."""
    scenario = {
        "fabric": star(4),
        "workload": flows(*(flow(f"h{n}", "h3", "256KiB", f"{30 * n}us") for n in range(3)))
        + flows(*(flow(f"h{n}", "h3", "128KiB", f"{200 + 10 * n}us") for n in range(3))),
        "faults": [{"kind": "drop", "port": "leaf0-eth4", "frames": "data", "nth": 40}],
    }
    whole = Explained(**scenario)
    monkeypatch.setattr("testbed.measurement.causes.collect._LEAST_RECORDS", 16)
    monkeypatch.setattr("testbed.measurement.causes.collect._LOOK_EVERY", 1)
    cut = Explained(**scenario)
    assert len(cut.collector.log.hops) < len(whole.collector.log.hops) / 2
    assert cut.explanation == whole.explanation


def all_reduce(size: str, **options: object) -> list[dict[str, object]]:
    return [{"kind": "all-reduce", "size": size, **options}]


def test_a_straggler() -> None:
    """h1 computes 1 ms longer than the others: they wait for it, and it for nobody."""
    run = Explained(fabric=star(4), workload=all_reduce("1MiB", straggler={"rank": "h1", "compute": "1ms"}))
    main = run.main(at_least=0.95)
    assert (main.kind, main.where) == (model.STRAGGLER, "h1")
    stalls = {stall.rank: stall.stall_ps for stall in run.explanation.stalls}
    assert all(stalls[rank] > 990_000_000 for rank in ("h0", "h2", "h3"))
    assert stalls["h1"] < 10_000_000


def test_a_lost_packet_reaches_every_rank_of_a_ring() -> None:
    """It is the last of the first message from h0 to h1: the delay goes around the ring from h1 on."""
    run = Explained(
        fabric=star(4),
        transport={"timeout": 12, "qps_per_connection": 4},
        workload=all_reduce("1MiB"),
        faults=[{"kind": "drop", "port": "h0-eth0", "frames": "data", "nth": 64}],
    )
    main = run.main(at_least=0.98)
    assert (main.kind, main.where) == (model.LOST_PACKET, "h0-eth0")
    number = run.explanation.causes.index(main)
    delayed = run.explanation.delayed[number]
    assert (delayed.source, delayed.destination, delayed.step, delayed.piece) == ("h0", "h1", 0, 0)
    parts = {stall.rank: stall.parts[0] for stall in run.explanation.stalls}
    assert {part.cause for part in parts.values()} == {number}
    assert {rank: [name for name, _ in part.through][:2] for rank, part in parts.items() if rank != "h1"} == {
        "h0": ["h1", "h2"],
        "h2": ["h1", "h2"],
        "h3": ["h1", "h2"],
    }


def test_clear_to_send() -> None:
    """One message at a time may come to h4: the others wait for their clear-to-sends, and nothing in a queue."""
    work = flows(*(flow(f"h{n}", "h4", "1MiB") for n in range(4)))
    work[0]["admission"] = {"outstanding": 1}
    run = Explained(fabric=star(5), workload=work)
    main = run.main(at_least=0.95)
    assert (main.kind, main.where) == (model.CLEAR_TO_SEND, "h4")
