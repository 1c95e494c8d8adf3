"""A live fabric from its start to the user's last line.

Two processes in the sandbox. This one is the engine: it runs the clock, and takes requests from the shell between two
events. The other one, forked when the fabric is up, has Mininet's command line and the terminal.
"""

import os
import signal
import sys
import traceback
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from testbed.fabric.build import build_plan
from testbed.lab import Lab, fabric_up
from testbed.outside.containers import Containers
from testbed.outside.mininet_shell import Shell, history_file
from testbed.outside.soft_roce import SoftRoce
from testbed.report.live import live_block, live_lines
from testbed.report.style import console_for
from testbed.run import rate_factor_for
from testbed.running import Running
from testbed.scenario.model import Scenario
from testbed.shell.command import Bench, commands
from testbed.shell.desk import Desk
from testbed.shell.line import Line, Request

_TURN_NS = 50_000_000
_SCRIPT_FAILED = 1


@dataclass(frozen=True, slots=True)
class Session:
    """What a live session is made of: the scenario, where it came from, the clock's factor (0: to be measured), the
    script to carry out instead of reading lines, the hosts that are containers, Open vSwitch's datapath,
    and the hosts that have Soft-RoCE."""

    scenario: Scenario
    file: Path
    overrides: tuple[str, ...]
    rate_factor: int
    script: Path | None
    containers: Containers | None = None
    datapath: str = "user"
    soft_roce: SoftRoce | None = None


def hold(session: Session) -> int:
    """Build the fabric, open the shell, and return the exit status when the user has left it. Call in the sandbox."""
    scenario = session.scenario
    plan = build_plan(scenario.fabric)
    containers = session.containers.by_host if session.containers else None
    with fabric_up(
        plan,
        scenario.controller,
        kernels=True,
        containers=containers,
        datapath=session.datapath,
        soft_roce=session.soft_roce,
    ) as lab:
        factor = rate_factor_for(scenario, plan, lab, session.rate_factor)
        running = Running(scenario, plan, lab, factor)
        running.faults.expect_changes()
        running.start_control()
        bench = Bench(running, lab, session.file, session.overrides)
        ours, theirs = Line.pair()
        print(_greeting(session, factor), file=sys.stderr, flush=True)
        shell = _fork_shell(session, lab, ours, theirs)
        theirs.close()
        return _serve(bench, ours, shell)


def _greeting(session: Session, factor: int) -> str:
    return (
        f"{session.scenario.title}: live, {factor:,} times slower than the model "
        f"(100 Gb/s are {100_000 / factor:,.4g} Mb/s). help lists the commands, Ctrl-D leaves."
    )


def _serve(bench: Bench, line: Line, shell: int) -> int:
    """Run the clock until the shell's process ends; return its exit status."""
    live, lab = bench.running.live, bench.lab
    assert live is not None
    desk = Desk(bench, line, live.clock)
    live.clock.watch(line.fileno(), desk.take)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for what runs in the shell
    while not desk.closed:
        live.advance(_TURN_NS, lambda: desk.closed)
        desk.look()
        lab.check()
    live.close()
    for capture in bench.captures.values():
        with suppress(OSError):  # a disk that is full now: what was written is there
            capture.close()
    console = console_for(sys.stderr)
    for text in live_lines({"live": live_block(live.record())}):
        console.print(text)
    return os.waitstatus_to_exitcode(os.waitpid(shell, 0)[1])


def _fork_shell(session: Session, lab: Lab, ours: Line, theirs: Line) -> int:
    """Start the shell's process; return its id."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        if lab.processors is not None:  # only the engine's thread is kept on one
            os.sched_setaffinity(0, lab.processors)
        ours.close()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        status = _run_shell(session, lab, theirs)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def _run_shell(session: Session, lab: Lab, line: Line) -> int:
    numbers = count(1)

    def ask(words: str, columns: int) -> tuple[str, bool]:
        number = next(numbers)
        line.send(Request(tuple(words.split()), columns, colour=sys.stdout.isatty(), number=number))
        answer = line.answer(number)
        return answer.text, answer.failed

    def give_up() -> None:
        number = next(numbers)
        line.send(Request((), number=number))
        line.answer(number)

    helps = {name: f"{commands[name].usage}\n{commands[name].help}" for name in commands.names()}
    repeated = frozenset(name for name in commands.names() if commands[name].repeats)
    shell = Shell(lab.network.mininet, helps, repeated, ask, give_up, history_file())
    try:
        if session.script is None:
            shell.interact()
        else:
            shell.carry_out(session.script)
    except EOFError:
        return 1  # the engine has ended, and says why
    return _SCRIPT_FAILED if session.script is not None and shell.failed else 0
