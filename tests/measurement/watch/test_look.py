"""Looks at a modelled run: what a view says is what the counters say, and looking changes nothing."""

from types import SimpleNamespace

from testbed.measurement.watch.look import Onlooker
from testbed.measurement.watch.view import View
from testbed.scenario.model import Flows
from tests.traffic.collectives.kit import Bench, ring, star

SIZE = 256 * 1024
FLOW = Flows.model_validate(
    {"kind": "flows", "flows": [{"source": "h0", "destination": "h1", "size": "64KiB", "start": "30us"}]}
)


class Run(Bench):
    """A modelled run that can be watched."""

    def __init__(self) -> None:
        super().__init__(star(4), ring(SIZE, iterations=2), FLOW)
        self.scenario = SimpleNamespace(title="A title")
        self.recorder = SimpleNamespace(records=[])

    def share_done(self) -> float:
        sent = sum(nic.counters.sent_data_packets for nic in self.nics.values())
        return sent / sum(job.data_packets for job in self.jobs)


def looks(run: Run, events: int = 200) -> list[View]:
    """Look every so many events, a second of wall time apart."""
    onlooker = Onlooker(run, 0.0)  # type: ignore[arg-type]
    views: list[View] = []
    while run.loop.run_events(events):
        views.append(onlooker.look(float(len(views) + 1)))
    return [*views, onlooker.look(float(len(views) + 1))]


def test_at_the_end_everything_has_arrived() -> None:
    last = looks(Run())[-1]
    assert last.share == 1.0
    assert [(job.share, job.done, job.failed) for job in last.jobs] == [(1.0, True, False)] * 2
    assert last.ranks == ()
    assert last.worst is None


def test_shares_only_grow() -> None:
    views = looks(Run())
    assert len(views) > 10
    for name in ("h0", "h1", "h2", "h3"):
        shares = [r.share or 0.0 for v in views for r in v.ranks if (r.name, r.job) == (name, views[0].jobs[0].name)]
        assert shares == sorted(shares)
        assert 0 < shares[-1] <= 1


def test_a_rank_says_whom_it_waits_for_and_how_long_already() -> None:
    views = [view for view in looks(Run()) if view.worst is not None]
    worst = views[3].worst
    assert worst is not None
    left = {"h0": "h3", "h1": "h0", "h2": "h1", "h3": "h2"}[worst.name]
    assert worst.waits_for == f"data from {left}"
    assert 0 < worst.waiting_ps <= views[3].now_ps


def test_utilisation_is_what_was_sent_since_the_last_look() -> None:
    run = Run()
    before, rate = 0, run.fabric.transmitters["h0-eth0"].rate_bps
    onlooker = Onlooker(run, 0.0)  # type: ignore[arg-type]
    sent, now = 0, 0
    while run.loop.run_events(300):
        view = onlooker.look(float(before := before + 1))
        total = run.fabric.transmitters["h0-eth0"].sent_bytes
        (port,) = [port for port in view.ports if port.name == "h0-eth0"]
        if view.now_ps > now:
            assert port.utilisation == min(1.0, (total - sent) * 8 * 10**12 / (rate * (view.now_ps - now)))
        sent, now = total, view.now_ps
    assert sent > 0


def test_drops_are_counted_by_reason_once() -> None:
    run = Run()
    onlooker = Onlooker(run, 0.0)  # type: ignore[arg-type]
    run.recorder.records += [SimpleNamespace(reason="fault"), SimpleNamespace(reason="fault")]
    assert onlooker.look(1.0).drops == {"fault": 2}
    run.recorder.records.append(SimpleNamespace(reason="shared_full"))
    assert onlooker.look(2.0).drops == {"fault": 2, "shared_full": 1}
    run.run()


def test_speed_is_that_since_the_last_look() -> None:
    run = Run()
    onlooker = Onlooker(run, 0.0)  # type: ignore[arg-type]
    run.loop.run_events(500)
    first = onlooker.look(0.5)
    assert first.hops_per_s == run.fabric.data_hops / 0.5
    assert first.model_ps_per_s == run.loop.now / 0.5
    assert onlooker.look(1.0).hops_per_s == 0
    run.run()


def test_a_run_that_is_watched_is_the_run_that_is_not() -> None:
    watched, alone = Run(), Run()
    looks(watched, events=50)
    alone.run()
    assert watched.loop.now == alone.loop.now
    for ours, theirs in zip(watched.jobs, alone.jobs, strict=True):
        assert ours.result() == theirs.result()
    for name, port in watched.fabric.ports.items():
        assert port.queue.peak_bytes == alone.fabric.ports[name].queue.peak_bytes
