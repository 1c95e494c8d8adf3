"""Another rocelab command as a process of ours, which ends with us: even when we are ended by SIGKILL."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from functools import partial

from testbed.outside.sandbox import end_with_parent


def run_rocelab(arguments: Sequence[str]) -> int:
    """Run ``rocelab`` with `arguments`, its output where ours goes, and return its exit status.

    Ctrl-C ends it first, in its own way, and then comes to us as KeyboardInterrupt.
    """
    command = [sys.executable, "-m", "testbed", *arguments]
    us = partial(end_with_parent, os.getpid())
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=us) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)  # it has had its own from a terminal, but not from elsewhere
            process.wait()
            raise
