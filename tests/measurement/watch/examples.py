"""Views to draw: a quiet run, one in which everything happens, and a large one."""

from dataclasses import replace

from testbed.measurement.watch.view import JobView, PortView, RankView, View

QUIET = View(
    title="A ring All-Reduce on a leaf-spine fabric",
    now_ps=412_345_678,
    wall_s=12.34,
    model_ps_per_s=33_400_000,
    hops_per_s=37_131.4,
    share=0.5625,
    jobs=(JobView("ring all-reduce (workload.0)", 0.5, done=False, failed=False),),
    ranks=tuple(
        RankView(f"h{n}", "ring all-reduce (workload.0)", n / 16, f"data from h{(n - 1) % 16}", 1_000 * n)
        for n in range(16)
    ),
    ports=tuple(
        PortView(
            f"leaf{n // 4}-eth{n % 4 + 1}", 0.99 - n / 50, tuple(4096 * (look % (n + 1)) for look in range(40)), False
        )
        for n in range(12)
    ),
    paused_now=0,
    pauses=0,
    drops={},
    marks=0,
    cnps=0,
    retransmissions=0,
)  # fmt: skip

BUSY = replace(
    QUIET,
    title="An All-Reduce beside an incast, with a title that no terminal of eighty columns has room for",
    jobs=(
        *QUIET.jobs,
        JobView("flow h4 to h1", 0.25, done=False, failed=False),
        JobView("flow h5 to h1", 0.0, done=False, failed=False),
        JobView("flow h6 to h1", 0.125, done=False, failed=False),
        JobView("flow h7 to h1", 1.0, done=True, failed=False),
        JobView("flow h8 to h1", 0.5, done=True, failed=True),
    ),
    ranks=(
        *QUIET.ranks,
        RankView("h4", "flow h4 to h1", None, None, 0),
        RankView("h1", "flow h4 to h1", 0.25, "data from h4", 999_999_999),
    ),
    ports=(PortView("h4-eth0", 0.5, (), True), *QUIET.ports),
    paused_now=2,
    pauses=125,
    drops={"shared_full": 1234, "fault": 1},
    marks=6540,
    cnps=29,
    retransmissions=77,
)

LARGE = replace(
    QUIET,
    ranks=tuple(RankView(f"h{n}", "a", 1 - n / 128, f"data from h{n - 1}", n) for n in range(128)),
    ports=tuple(PortView(f"leaf{n}-eth1", n / 400, (n * 100,), False) for n in range(400)),
)

EMPTY = replace(QUIET, now_ps=0, share=0.0, ranks=(), ports=(), model_ps_per_s=0.0, hops_per_s=0.0)
