"""The host of a policy: what it hands on, and the exact text for each way in which a policy misbehaves.

Each broken policy in ``misbehaving/`` stands beside the error that it must give.
"""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from controllers.channel import AskPolicy, Decision
from controllers.policy import AddFlow, FlowMod, Policy, SendPause, SetEcn, Telemetry
from controllers.policy_host import HangWatch, PolicyError, PolicyHost, load_policy
from testbed.errors import ScenarioError
from tests.conftest import GoldenCheck
from tests.controllers.policies.kit import plan_of, port, seen

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent / "misbehaving"
PLAN = plan_of()
AT_60_US = AskPolicy(1, "on_interval", 60_000_000, seen(port(PLAN, "leaf0-eth1")).as_json())

WHILE_RUNNING = [
    "raises", "interrupts", "answers_a_number", "answers_text", "answers_without_end", "names_no_port",
    "names_no_switch", "adds_no_flow",
]  # fmt: skip
WHILE_LOADING = ["raises_at_import", "refuses_options"]


@pytest.fixture(autouse=True)
def from_the_root(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Files are named as a user would, from the tree's root; modules that a test loads are forgotten after it."""
    monkeypatch.chdir(ROOT)
    before, path = set(sys.modules), list(sys.path)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]
    sys.path[:] = path


def load(name: str, limit_s: float = 10, **options: object) -> PolicyHost:
    return load_policy(f"{FOLDER.relative_to(ROOT)}/{name}.py", options, PLAN, "l3-ecmp", limit_s)


@pytest.mark.parametrize("name", WHILE_RUNNING)
def test_misbehaviour_names_policy_line_and_model_time(name: str, golden: GoldenCheck) -> None:
    with pytest.raises(PolicyError) as caught:
        load(name).answer(AT_60_US)
    golden(FOLDER / f"{name}.txt", f"{caught.value}\n")


def test_an_action_of_which_no_message_can_be_made(golden: GoldenCheck) -> None:
    def refuse(_action: object) -> None:
        raise KeyError("unknown match field: no_such")

    host = load("matches_no_field")
    host.rehearse = refuse
    with pytest.raises(PolicyError) as caught:
        host.answer(AT_60_US)
    golden(FOLDER / "matches_no_field.txt", f"{caught.value}\n")


def test_misbehaviour_at_the_start(golden: GoldenCheck) -> None:
    with pytest.raises(PolicyError) as caught:
        load("raises_at_start").answer(AskPolicy(1, "on_start", 0, None))
    golden(FOLDER / "raises_at_start.txt", f"{caught.value}\n")


@pytest.mark.parametrize("name", WHILE_LOADING)
def test_a_policy_that_cannot_be_made(name: str, golden: GoldenCheck) -> None:
    with pytest.raises(ScenarioError) as caught:
        load(name)
    golden(FOLDER / f"{name}.txt", f"{caught.value}\n")


def test_a_policy_that_is_never_loaded_is_found_where_it_is(golden: GoldenCheck) -> None:
    with pytest.raises(ScenarioError) as caught:
        load("hangs_at_import", limit_s=0.5)
    text = re.sub(r"(hangs_at_import\.py):[34]:", r"\1:LINE:", str(caught.value))
    golden(FOLDER / "hangs_at_import.txt", f"{text}\n")


def test_a_file_that_was_changed_is_read_again(tmp_path: Path) -> None:
    """Also when the change is as long as what it replaces, and comes within the same second."""
    file = tmp_path / "mine_again.py"
    for kmin in ("1 KB", "2 KB"):
        file.write_text(f"from controllers.policy import Policy\nclass Mine(Policy):\n    note: str = '{kmin}'\n")
        assert load_policy(str(file), {}, PLAN, "l3-ecmp")._policy.note == kmin


def test_modules_beside_it_are_read_again_too_and_another_spelling_of_its_path_is_the_same_file(tmp_path: Path) -> None:
    begin = "from controllers.policy import Policy\nimport mine_helper\n"
    (tmp_path / "mine_too.py").write_text(f"{begin}class Mine(Policy):\n    note: str = mine_helper.NOTE\n")
    (tmp_path / "linked").symlink_to(tmp_path)
    for note, path in (("one", tmp_path / "mine_too.py"), ("two", tmp_path / "linked" / "mine_too.py")):
        (tmp_path / "mine_helper.py").write_text(f"NOTE = '{note}'\n")
        assert load_policy(str(path), {}, PLAN, "l3-ecmp")._policy.note == note


def test_another_plug_in_of_the_same_folder_stays_loaded_and_nothing_is_left_beside_them(tmp_path: Path) -> None:
    """The application and the policy may lie side by side; the folder may be one that nobody can write to."""
    for name in ("mine_first", "mine_second"):
        file = tmp_path / f"{name}.py"
        file.write_text("from controllers.policy import Policy\nclass Mine(Policy): pass\n")
        load_policy(str(file), {}, PLAN, "l3-ecmp")
    assert {"mine_first", "mine_second"} <= set(sys.modules)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine_first.py", "mine_second.py"]


def test_a_file_that_was_mended_is_loaded(tmp_path: Path) -> None:
    file = tmp_path / "mine_mended.py"
    file.write_text("1 / 0\n")
    with pytest.raises(ScenarioError, match=r"mine_mended\.py:1: ZeroDivisionError"):
        load_policy(str(file), {}, PLAN, "l3-ecmp")
    file.write_text("from controllers.policy import Policy\nclass Mine(Policy): pass\n")
    load_policy(str(file), {}, PLAN, "l3-ecmp")


def test_wrong_options_are_listed_by_their_path() -> None:
    with pytest.raises(ScenarioError) as caught:
        load("raises", kmni="3KB", kmin=7)
    name = "tests/controllers/misbehaving/raises.py"
    assert str(caught.value).splitlines() == [
        f"controller.policy.kmni: 'kmni' is not an option of policy {name}; did you mean 'kmin'?",
        "controller.policy.kmin: expected a size with its unit (B, kB, MB, GB, KiB, MiB, GiB), found 7; "
        "for example 30kB",
    ]


def test_a_policy_that_needs_another_application() -> None:
    with pytest.raises(ScenarioError, match="it builds on the rules of l3-ecmp, found the application x"):
        load_policy("reroute", {}, PLAN, "x.py")


class Hung(Exception):  # noqa: N818 - what a test ends a hanging policy by
    pass


def test_a_policy_that_hangs_is_found_where_it_is(golden: GoldenCheck, capfd: pytest.CaptureFixture[str]) -> None:
    def end(text: str) -> None:
        raise Hung(text)

    watch = HangWatch(load("hangs"), end, Running, limit_s=0.05)
    with pytest.raises((Hung, PolicyError)) as caught:
        watch.answer(AT_60_US)
    text = capfd.readouterr().err.splitlines()[0]
    assert text in str(caught.value)
    line = int(text.split("hangs.py:")[1].partition(":")[0])
    assert line in (6, 7)
    golden(FOLDER / "hangs.txt", text.replace(f"hangs.py:{line}:", "hangs.py:LINE:") + "\n")


class Running:
    """The running green thread: it has no frame of its own."""

    gr_frame = None


def test_a_policy_that_answers_in_time_is_left_alone() -> None:
    def end(_text: str) -> None:
        raise AssertionError("it has answered")

    host = load_policy("static", {}, PLAN, "l3-ecmp")
    watch = HangWatch(host, end, Running, limit_s=0.05)
    assert len(watch.answer(AskPolicy(1, "on_start", 0, None)).actions) == 12
    busy_for(0.1)


def busy_for(seconds: float) -> None:
    """Pass wall time in which a signal that is still armed would strike."""
    import time

    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


# --- what it hands on ------------------------------------------------------------------------------------------------


def host_of(hook: Callable[[Telemetry], object]) -> PolicyHost:
    class Mine(Policy):
        def on_interval(self, seen: Telemetry):  # type: ignore[no-untyped-def] # as a user writes it
            return hook(seen)

    return PolicyHost(Mine(), "mine", __file__, PLAN)


def test_actions_on_the_model_go_out_and_openflow_stays_until_its_time() -> None:
    flow = AddFlow("leaf0", FlowMod(1, (), ()))
    pause = SendPause("leaf1-eth2", 3, 7)
    host = host_of(lambda _seen: [flow, SetEcn("leaf0-eth1", 3, 1, 2, 0.5), pause])
    assert host.answer(AT_60_US) == Decision(1, [["SetEcn", "leaf0-eth1", 3, 1, 2, 0.5]], kept=2)
    assert host.take(1) == [flow, pause]
    assert host.take(1) == []
    assert [host.switch_of(action) for action in (flow, pause)] == ["leaf0", "leaf1"]
    assert host.port_number("leaf1-eth2") == 2


def test_nothing_is_an_answer() -> None:
    assert host_of(lambda _seen: None).answer(AT_60_US) == Decision(1, [], 0)


def test_the_policy_sees_what_was_sent() -> None:
    noted = []
    host_of(noted.append).answer(AT_60_US)
    (found,) = noted
    assert found.port("leaf0-eth1").peer == "h0"


def test_links_are_told_by_name() -> None:
    class Mine(Policy):
        def on_link_down(self, link: str):  # type: ignore[no-untyped-def] # as a user writes it
            raise ValueError(link)

    host = PolicyHost(Mine(), "mine", __file__, PLAN)
    assert host.answer(AskPolicy(1, "on_link_up", 5, "h0-leaf0")).actions == []
    with pytest.raises(PolicyError, match=r"^policy mine, on_link_down at 5ps: .*: ValueError: h0-leaf0$"):
        host.answer(AskPolicy(2, "on_link_down", 5, "h0-leaf0"))
