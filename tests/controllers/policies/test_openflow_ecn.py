"""``openflow-ecn``: which copies of routes mark, for which packets, and when they go."""

from controllers.openflow import ToGroup
from controllers.policies.openflow_ecn import OpenflowEcn
from controllers.policy import Action, AddFlow, AddGroup, DeleteFlow, Output, SetField
from controllers.rules import routes
from tests.controllers.policies.kit import acts, make, plan_of, port, queue, seen

PLAN = plan_of()
MARK = SetField("ip_ecn", 3)


def policy() -> OpenflowEcn:
    made = make("openflow-ecn", high="200KB", low="50KB")
    assert isinstance(made, OpenflowEcn)
    made.on_start(PLAN)
    return made


def watermark(made: OpenflowEcn, name: str, size_bytes: int) -> list[Action]:
    return acts(made.on_interval(seen(port(PLAN, name, queue(watermark_bytes=size_bytes)))))


def test_a_congested_host_port_marks_ecn_capable_packets_to_that_host_only() -> None:
    done = watermark(policy(), "leaf0-eth1", 200_001)
    flows = [action.flow for action in done if isinstance(action, AddFlow)]
    (route,) = [flow for flow in routes(PLAN)[0].flows if Output(1) in flow.actions]
    assert len(done) == len(flows) == 2
    assert [dict(flow.match) for flow in flows] == [{**dict(route.match), "ip_ecn": ecn} for ecn in (1, 2)]
    for flow in flows:
        assert flow.priority > route.priority
        assert flow.actions == (*route.actions[:-1], MARK, route.actions[-1])


def test_a_congested_uplink_marks_in_its_bucket_of_a_copied_group() -> None:
    done = watermark(policy(), "leaf0-eth3", 10**6)
    (group,) = [action.group for action in done if isinstance(action, AddGroup)]
    (original,) = routes(PLAN)[0].groups
    assert (group.hash_fields, group.hash_seed) == (original.hash_fields, original.hash_seed)
    assert group.group_id != original.group_id
    assert group.buckets == ((MARK, *original.buckets[0]), original.buckets[1])
    for action in done[1:]:
        assert isinstance(action, AddFlow)
        assert ToGroup(group.group_id) in action.flow.actions


def test_between_the_two_limits_nothing_changes() -> None:
    made = policy()
    assert watermark(made, "leaf0-eth1", 200_000) == []
    watermark(made, "leaf0-eth1", 300_000)
    assert watermark(made, "leaf0-eth1", 50_000) == []


def test_the_copies_go_when_the_queue_has_drained() -> None:
    made = policy()
    added = watermark(made, "leaf0-eth1", 300_000)
    gone = watermark(made, "leaf0-eth1", 49_999)
    assert gone == [
        DeleteFlow(action.switch, action.flow.priority, action.flow.match)
        for action in added
        if isinstance(action, AddFlow)
    ]
    assert watermark(made, "leaf0-eth1", 0) == []


def test_two_congested_uplinks_share_the_copied_group() -> None:
    made = policy()
    both = [port(PLAN, f"leaf0-eth{number}", queue(watermark_bytes=10**6)) for number in (3, 4)]
    (group,) = [each.group for each in acts(made.on_interval(seen(*both))) if isinstance(each, AddGroup)]
    assert all(bucket[0] == MARK for bucket in group.buckets)
    (left,) = [each.group for each in watermark(made, "leaf0-eth3", 0) if isinstance(each, AddGroup)]
    assert [bucket[0] == MARK for bucket in left.buckets] == [False, True]
