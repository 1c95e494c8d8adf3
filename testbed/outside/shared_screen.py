"""The terminal's screen under Ctrl-Z: given back to the shell, and taken again when the run goes on.

A run that is watched draws on the terminal's alternate screen. Who draws is the inner process of the sandbox, which as
the first of its namespace cannot stop; the outer one stops it from without (`testbed.outside.sandbox`). So it is the
outer one, when nothing draws any more, that puts the terminal in order, as it does when the inner one was killed and
could not. What the two must know of each other stands in two bytes of memory that they share: a process that is stopped
reads no message, and one that is dead sends none.

In the background (``bg``) the run goes on and draws nothing; the outer process looks now and then whether it is in the
foreground again, since a shell does not tell a process that is running already.

References: xterm's control sequences, private modes 1049 (alternate screen) and 25 (cursor).
"""

import mmap
import os
import signal
from contextlib import suppress
from types import FrameType

ENTER, LEAVE = b"\x1b[?1049h\x1b[?25l", b"\x1b[?1049l\x1b[?25h"
_LOOK_S = 0.3
"""Wall time between two looks whether the terminal is ours again."""
_TAKEN, _SHOWN = 0, 1


class SharedScreen:
    """The alternate screen of the terminal `file` (a descriptor). To be made before the sandbox's processes part."""

    def __init__(self, file: int = 2) -> None:
        self._file = file
        self._shared = mmap.mmap(-1, 2)

    # --- for the process that draws -----------------------------------------------------------------------------------

    @property
    def taken(self) -> bool:
        """Whether the alternate screen is in use. To be set before it is switched on, and unset before it is off."""
        return bool(self._shared[_TAKEN])

    @taken.setter
    def taken(self, taken: bool) -> None:
        self._shared[_TAKEN] = taken
        if taken:
            self.shown = True

    @property
    def shown(self) -> bool:
        """Whether the terminal shows it now."""
        return bool(self._shared[_SHOWN])

    @shown.setter
    def shown(self, shown: bool) -> None:
        self._shared[_SHOWN] = shown

    @property
    def hidden(self) -> bool:
        """Whether it is in use, but the terminal the shell's for now: nothing may be written to it."""
        return self.taken and not self.shown

    # --- for the process that stops and goes on -----------------------------------------------------------------------

    def hide(self) -> None:
        """Give the terminal back, if the screen is in use. The process that draws must have stopped."""
        if self.shown:
            self.shown = False
            os.write(self._file, LEAVE)

    def show_again(self) -> None:
        """Take it again: now, or as soon as this process is in the foreground."""
        if not self.hidden:
            return
        if self._in_foreground():
            os.write(self._file, ENTER)
            self.shown = True
        else:
            signal.signal(signal.SIGALRM, self._look)
            signal.setitimer(signal.ITIMER_REAL, _LOOK_S)

    def end(self) -> None:
        """The process that draws is no more: give the terminal back if that process could not, and never take it again.

        It was killed; or it found the terminal hidden at its end, when this one was just taking it again.
        """
        self.taken = False
        with suppress(OSError):  # the terminal is gone
            self.hide()

    def _look(self, _number: int, _frame: FrameType | None) -> None:
        self.show_again()

    def _in_foreground(self) -> bool:
        try:
            return os.tcgetpgrp(self._file) == os.getpgrp()
        except OSError:  # not our controlling terminal: no shell has taken it
            return True
