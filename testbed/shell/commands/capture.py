"""``capture``: write what passes a port into a pcapng file, until told to stop."""

from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from testbed.measurement.capture import PortCapture
from testbed.shell.command import Bench, Command, CommandError, Outcome, arguments, commands, one_of


def run(bench: Bench, words: Sequence[str]) -> Outcome:
    """``capture leaf0-eth1 file.pcapng``, ``capture leaf0-eth1 stop``."""
    name, target = arguments(words, 2, 2, command)
    running = bench.running
    port = one_of(name, list(running.fabric.transmitters), "a port")
    if target == "stop":
        capture = bench.captures.pop(port, None)
        if capture is None:
            raise CommandError(f"nothing is captured at {port}")
        try:
            capture.close()
        except OSError as error:
            raise CommandError(f"{capture.path}: not all of it could be written: {error.strerror}") from None
        return Text(f"{capture.path}: {capture.frames:,} frames")
    if port in bench.captures:
        raise CommandError(f"{port} is captured into {bench.captures[port].path}; first: capture {port} stop")
    try:
        capture = PortCapture(Path(target), running.plan, [port])
    except OSError as error:
        raise CommandError(f"cannot write {target}: {error.strerror}") from None
    capture.attach(running.fabric.transmitters)
    bench.captures[port] = capture
    return Text(f"capturing {port} into {target}; capture {port} stop ends it")


command = Command(
    "capture PORT FILE|stop", "capture a port: capture leaf0-eth1 x.pcapng, then capture leaf0-eth1 stop", run
)
commands.register("capture")(command)
