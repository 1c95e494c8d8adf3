"""A port that tells the far end of its link to pause, while ingress groups of the port are congested.

    a group goes into its headroom     XOFF: a frame with `quanta`
    `refresh` of the pause time later  XOFF again, if it is still congested, so that the pause does not run out
    the group is relieved              XON: a frame with quanta 0

What several priorities have to say at one time goes into one frame; a frame that waits for the wire is rewritten rather
than followed by another. So a change waits for at most the frame that is being sent, which the headroom allows for.

With `pause` instead of `pfc` there is one state for the link: XOFF with the first congested group, XON with the last.
"""

from collections.abc import Callable
from fractions import Fraction

from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop, Handler
from testbed.engine.pause.frames import ALL_PRIORITIES, GLOBAL, pause_frame, pfc_frame
from testbed.engine.pause.journal import Cause, Journal, Pause
from testbed.engine.transmitter import Transmitter
from testbed.fabric.buffers import pause_ps
from testbed.scenario.qos import PRIORITIES, PfcOptions


class PauseSender:
    """Sends the pause frames of one port, in `pfc`'s kind, by the port's transmitter, from `mac`.

    `far_end` is the name of the port that is to stop. `before_refresh` is called with a paused priority before its
    pause is refreshed, and may resume it instead.

    Attributes:
        mask: bit p is set while priority p is to be paused.
        xoff_frames, xon_frames: sent, by priority (one frame counts for each that it names); PAUSE under `GLOBAL`.
    """

    __slots__ = (
        "_before_refresh", "_due_ps", "_far_end", "_journal", "_loop", "_mac", "_open", "_per_priority", "_quanta",
        "_refresh_handler", "_refresh_ps", "_said", "_scheduled", "_send_handler", "_timed", "_unsaid", "_waiting",
        "mask", "transmitter", "xoff_frames", "xon_frames",
    )  # fmt: skip

    def __init__(
        self,
        loop: EventLoop,
        transmitter: Transmitter,
        far_end: str,
        mac: str,
        pfc: PfcOptions,
        journal: Journal,
        before_refresh: Callable[[int], None],
    ) -> None:
        self.transmitter = transmitter
        self.mask = 0
        self.xoff_frames = [0] * (GLOBAL + 1)
        self.xon_frames = [0] * (GLOBAL + 1)
        self._loop = loop
        self._far_end = far_end
        self._mac = mac
        self._quanta = pfc.quanta
        self._per_priority = pfc.kind == "pfc"
        self._journal = journal
        self._before_refresh = before_refresh
        share = Fraction(str(pfc.refresh))
        self._refresh_ps = pause_ps(pfc.quanta, transmitter.rate_bps) * share.numerator // share.denominator
        self._open: dict[int, Pause] = {}
        self._due_ps = [0] * (GLOBAL + 1)
        self._timed = [False] * (GLOBAL + 1)
        self._unsaid: set[int] = set()
        self._said: dict[int, bool] = {}
        self._waiting: Frame | None = None
        self._scheduled = False
        self._send_handler: Handler = self._send
        self._refresh_handler: Handler = self._refresh

    def pause(self, priority: int, causes: tuple[Cause, ...] = ()) -> None:
        """Pause `priority` at the far end until `resume`."""
        self.mask |= 1 << priority
        key = self._key(priority)
        if key in self._open:
            return
        of = None if key == GLOBAL else priority
        self._open[key] = pause = Pause(self._loop.now, self.transmitter.name, self._far_end, of, causes)
        self._journal.pauses.append(pause)
        self._say(key)
        self._refresh_later(key)

    def resume(self, priority: int) -> None:
        """Let `priority` go on."""
        self.mask &= ALL_PRIORITIES ^ 1 << priority
        key = self._key(priority)
        if key in self._open and not self._is_paused(key):
            self._open.pop(key).end_ps = self._loop.now
            self._say(key)

    def since_ps(self, priority: int) -> int:
        """Return since when `priority` is to be paused at the far end; it must be."""
        return self._open[self._key(priority)].start_ps

    def pausing(self, priority: int) -> list[int]:
        """Return the priorities for whose sake the far end may not send `priority` now."""
        if self._per_priority:
            return [priority] if self.mask >> priority & 1 else []
        return [each for each in range(PRIORITIES) if self.mask >> each & 1]

    def _key(self, priority: int) -> int:
        """What a pause of `priority` stops: the priority, or the whole link."""
        return priority if self._per_priority else GLOBAL

    def _is_paused(self, key: int) -> bool:
        return bool(self.mask) if key == GLOBAL else bool(self.mask >> key & 1)

    # --- frames -------------------------------------------------------------------------------------------------------

    def _say(self, key: int) -> None:
        """Send the state of `key`, once the handler that runs now is through with its own frames."""
        self._unsaid.add(key)
        if not self._scheduled:
            self._scheduled = True
            self._loop.at(self._loop.now, self._send_handler)

    def _send(self, _nothing: None) -> None:
        self._scheduled = False
        waiting = self._waiting
        if waiting is not None and self.transmitter.holds_control(waiting):
            self._count(-1)
            self._unsaid.update(self._said)
        else:
            waiting = None
        self._said = {key: self._is_paused(key) for key in sorted(self._unsaid)}
        self._unsaid.clear()
        self._count(1)
        data = self._bytes()
        if waiting is None:
            self._waiting = frame = Frame(data)
            self.transmitter.send_control(frame)
        else:
            waiting.data = data

    def _bytes(self) -> bytes:
        if not self._per_priority:
            return pause_frame(self._mac, self._quanta if self.mask else 0)
        return pfc_frame(self._mac, {key: self._quanta if paused else 0 for key, paused in self._said.items()})

    def _count(self, frames: int) -> None:
        for key, paused in self._said.items():
            (self.xoff_frames if paused else self.xon_frames)[key] += frames

    # --- refresh ------------------------------------------------------------------------------------------------------

    def _refresh_later(self, key: int) -> None:
        """One event a key is enough: when it comes too early, as the pause began anew meanwhile, it is put off."""
        self._due_ps[key] = self._loop.now + self._refresh_ps
        if not self._timed[key]:
            self._timed[key] = True
            self._loop.upkeep_at(self._due_ps[key], self._refresh_handler, key)

    def _refresh(self, key: int) -> None:
        self._timed[key] = False
        if key not in self._open:
            return
        if self._loop.now < self._due_ps[key]:
            self._timed[key] = True
            self._loop.upkeep_at(self._due_ps[key], self._refresh_handler, key)
            return
        for priority in range(PRIORITIES):
            if self.mask >> priority & 1 and self._key(priority) == key:
                self._before_refresh(priority)
        if key in self._open:
            self._open[key].refreshes += 1
            self._say(key)
            self._refresh_later(key)
