"""Mininet's command line, with commands that the engine carries out.

It runs in a process of its own, so that nothing typed here ever holds up the engine's clock. All of Mininet's commands
are here (``h1 ping h2``, ``xterm h1``, ``py net``, ``dump``, ...), but ``link``, which is the engine's: the fabric's
links are its own.
"""

import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mininet.cli import CLI
from mininet.log import lg, setLogLevel

Ask = Callable[[str, int], tuple[str, bool]]
"""Sends a line to the engine with the terminal's width; returns what to print, and whether it failed."""

_REDRAW_S = 0.5
_ENDS = ("exit", "quit", "EOF", "stop")


class Shell(CLI):
    """The command line on `network` (Mininet's). `helps` are the engine's commands with their help texts; those in
    `repeated` are asked again and again until Ctrl-C.
    """

    prompt = "rocelab> "

    def __init__(
        self,
        network: Any,
        helps: Mapping[str, str],
        repeated: frozenset[str],
        ask: Ask,
        give_up: Callable[[], None],
        history: Path,
    ) -> None:
        self._helps = helps
        self._repeated = repeated
        self._ask = ask
        self._give_up = give_up
        self._history = history
        self.failed = False
        # CLI's own initialiser runs the loop at once; what it sets besides is set here, by the class before it.
        self.mn = network
        self.locals = {"net": network}
        self.inputFile = None
        super(CLI, self).__init__(stdin=sys.stdin)
        self._watch_input()

    def _watch_input(self) -> None:
        import select

        self.inPoller = select.poll()
        self.inPoller.register(self.stdin)

    # --- reading lines ------------------------------------------------------------------------------------------------

    def interact(self) -> None:
        """Read lines until the user has enough."""
        _talk()
        self._load_history()
        try:
            self.run()
        finally:
            self._save_history()

    def carry_out(self, script: Path) -> None:
        """Carry out the lines of a script, each printed before; stop at one that ends the shell."""
        _talk()
        for line in script.read_text(encoding="utf-8").splitlines():
            words = self.precmd(line).strip()
            if not words:
                continue
            print(f"{self.prompt}{words}", flush=True)
            if self.onecmd(words):
                return

    def _load_history(self) -> None:
        if self.isatty():
            import readline

            if self._history.is_file():
                readline.read_history_file(self._history)
            readline.set_history_length(1000)

    def _save_history(self) -> None:
        if self.isatty():
            import readline

            try:
                self._history.parent.mkdir(parents=True, exist_ok=True)
                readline.write_history_file(self._history)
            except OSError:
                pass  # a home that cannot be written to costs the history, and no more

    # --- lines --------------------------------------------------------------------------------------------------------

    def onecmd(self, line: str) -> Any:
        """Carry out one line: the engine's, else Mininet's; True ends the shell."""
        word = line.split(maxsplit=1)[0] if line.split() else ""
        if word in _ENDS:
            return True
        if word in self._helps:
            self._engine(line, repeat=word in self._repeated)
            return None
        try:
            return super().onecmd(line)
        except EOFError:
            raise
        except Exception as error:  # Mininet's commands raise what they meet: wrong words, a host's shell that is gone
            self.failed = True
            print(f"{word} failed: {type(error).__name__}: {error}", flush=True)
            return None

    def _engine(self, line: str, *, repeat: bool) -> None:
        try:
            while True:
                text, failed = self._ask(line, shutil.get_terminal_size().columns)
                self.failed = self.failed or failed
                if not repeat or failed or not self.isatty():
                    break
                print(f"\x1b[H\x1b[2J{text}", end="", flush=True)
                time.sleep(_REDRAW_S)
        except KeyboardInterrupt:
            self._give_up()
            print()
            return
        print(text, end="", flush=True)

    def do_source(self, line: str) -> None:
        """Carry out the lines of a file: source FILE"""
        try:
            self.carry_out(Path(line.strip()))
        except (OSError, UnicodeDecodeError) as error:
            self.failed = True
            print(f"cannot read {line.strip()!r}: {error}", flush=True)

    def default(self, line: str) -> None:
        """A host's command, or nothing that is known: then names are offered."""
        first = line.split()[0]
        if first in self.mn:
            super().default(line)
            return
        self.failed = True
        from difflib import get_close_matches

        known = [*self._helps, *(name[3:] for name in self.get_names() if name.startswith("do_")), *self.mn]
        near = get_close_matches(first, known, n=2)
        hint = f"did you mean {' or '.join(near)}?" if near else "help lists all commands"
        print(f"unknown command {first!r}; {hint}", flush=True)

    # --- help ---------------------------------------------------------------------------------------------------------

    def do_help(self, line: str) -> None:
        """Print all commands, or what one does."""
        if line in self._helps:
            print(self._helps[line])
            return
        if not line:
            width = max(map(len, self._helps))
            print("\nOf the fabric:")
            for name, text in self._helps.items():
                print(f"  {name:<{width}}  {text.splitlines()[-1]}")
            print("\nOf Mininet (help NAME tells more):", end="")
        super().do_help(line)

    def completenames(self, text: str, *ignored: Any) -> list[str]:
        """Complete a line's first word: commands and nodes."""
        own = [name for name in (*self._helps, *self.mn, "stop") if name.startswith(text)]
        return sorted({*own, *super().completenames(text, *ignored)})

    def completedefault(self, text: str, *_ignored: Any) -> list[str]:
        """Complete any other word: names of nodes and of their interfaces."""
        names = [*self.mn, *(interface.name for node in self.mn.values() for interface in node.intfList())]
        return sorted(name for name in names if name.startswith(text))


def _talk() -> None:
    """Let Mininet say what its commands print, on standard output like all else here."""
    setLogLevel("output")
    for handler in lg.handlers:
        handler.setStream(sys.stdout)


def history_file() -> Path:
    """Return where the lines that were typed are kept."""
    state = os.environ.get("XDG_STATE_HOME")
    base = Path(state) if state else Path("~/.local/state").expanduser()
    return base / "rocelab" / "history"
