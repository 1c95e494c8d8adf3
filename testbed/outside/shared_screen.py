"""The terminal's screen under Ctrl-Z: given back to the shell, and taken again when the run goes on.

A run that is watched draws on the terminal's alternate screen. Who draws is the inner process of the sandbox, which as
the first of its namespace cannot stop; the outer one stops it from without (`testbed.outside.sandbox`). So it is the
outer one, when nothing draws any more, that puts the terminal in order. What the two must know of each other stands in
two bytes of memory that they share: a process that is stopped reads no message.

In the background (``bg``) the run goes on and draws nothing; the outer process looks now and then whether it is in the
foreground again, since a shell does not tell a process that is running already.

References: xterm's control sequences, private modes 1049 (alternate screen) and 25 (cursor).
"""

import mmap
import os
import signal
from types import FrameType

ENTER, LEAVE = b"\x1b[?1049h\x1b[?25l", b"\x1b[?1049l\x1b[?25h"
_LOOK_S = 0.3
"""Wall time between two looks whether the terminal is ours again."""
_TAKEN, _HIDDEN = 0, 1


class SharedScreen:
    """The alternate screen of the terminal `file` (a descriptor). To be made before the sandbox's processes part."""

    def __init__(self, file: int = 2) -> None:
        self._file = file
        self._shared = mmap.mmap(-1, 2)

    # --- for the process that draws -----------------------------------------------------------------------------------

    @property
    def taken(self) -> bool:
        """Whether the alternate screen is in use."""
        return bool(self._shared[_TAKEN])

    @taken.setter
    def taken(self, taken: bool) -> None:
        self._shared[_TAKEN] = taken

    @property
    def hidden(self) -> bool:
        """Whether the terminal is the shell's for now: nothing may be written to it."""
        return bool(self._shared[_HIDDEN])

    # --- for the process that stops and goes on -----------------------------------------------------------------------

    def hide(self) -> None:
        """Give the terminal back, if the screen is in use. The process that draws must have stopped."""
        if self.taken and not self.hidden:
            self._shared[_HIDDEN] = True
            os.write(self._file, LEAVE)

    def show_again(self) -> None:
        """Take it again: now, or as soon as this process is in the foreground."""
        if not self.hidden:
            return
        if self._in_foreground():
            os.write(self._file, ENTER if self.taken else b"")
            self._shared[_HIDDEN] = False
        else:
            signal.signal(signal.SIGALRM, self._look)
            signal.setitimer(signal.ITIMER_REAL, _LOOK_S)

    def _look(self, _number: int, _frame: FrameType | None) -> None:
        self.show_again()

    def _in_foreground(self) -> bool:
        try:
            return os.tcgetpgrp(self._file) == os.getpgrp()
        except OSError:  # not our controlling terminal: no shell has taken it
            return True
