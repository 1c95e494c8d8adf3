from collections.abc import Coroutine

from testbed.engine.loop import EventLoop
from traffic.collectives.process import Mailbox, Pause, Process, Sleep
from traffic.results import Wait


class Scene:
    """One process with a mailbox, and what it did when."""

    def __init__(self) -> None:
        self.loop = EventLoop()
        self.mailbox = Mailbox()
        self.log: list[tuple[int, str]] = []

    def start(self, program: Coroutine[Pause, None, None]) -> Process:
        process = Process(self.loop, "h0", program, lambda: self.log.append((self.loop.now, "done")))
        process.start()
        return process

    def put_at(self, time_ps: int, *key: int) -> None:
        self.loop.at(time_ps, self.mailbox.put, key)


def test_sleep_takes_model_time_and_is_recorded() -> None:
    scene = Scene()

    async def program() -> None:
        await Sleep(scene.loop.now + 500, "compute")
        scene.log.append((scene.loop.now, "awake"))

    process = scene.start(program())
    scene.loop.run()
    assert scene.log == [(500, "awake"), (500, "done")]
    assert process.waits == [Wait("h0", "compute", 0, 0, 0, 500)]
    assert process.done


def test_messages_may_come_before_or_after_they_are_waited_for() -> None:
    scene = Scene()

    async def program() -> None:
        for key in ((1, 0), (1, 1), (1, 2)):
            await scene.mailbox.get(key, "data", step=key[0], piece=key[1])
            scene.log.append((scene.loop.now, f"piece {key[1]}"))

    process = scene.start(program())
    scene.put_at(100, 1, 1)  # early: kept
    scene.put_at(300, 1, 0)
    scene.put_at(450, 1, 2)
    scene.loop.run()
    assert scene.log == [(300, "piece 0"), (300, "piece 1"), (450, "piece 2"), (450, "done")]
    assert process.waits == [Wait("h0", "data", 1, 0, 0, 300), Wait("h0", "data", 1, 2, 300, 450)]


def test_what_a_process_waits_for_is_known_at_every_instant() -> None:
    scene = Scene()

    async def program() -> None:
        await scene.mailbox.get((7,), "data from h3", step=4, piece=2)

    process = scene.start(program())
    assert process.waiting_for() == "h0: not started"
    scene.loop.run(until_ps=2_000_000)
    assert process.waiting_for() == "h0: waits for data from h3, step 4, piece 2, since 0ps"
    scene.mailbox.put((7,))
    assert process.waiting_for() == "h0: done"


def test_stop_ends_the_wait_and_the_process() -> None:
    scene = Scene()

    async def program() -> None:
        await scene.mailbox.get((7,), "data", step=4, piece=2)
        raise AssertionError("a stopped process must not go on")

    process = scene.start(program())
    scene.loop.run(until_ps=900)
    process.stop()
    scene.mailbox.put((7,))
    assert process.waits == [Wait("h0", "data", 4, 2, 0, 900)]
    assert scene.log == []
