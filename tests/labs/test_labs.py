"""Every lab: handed out, checked with its solution and without, and graded for a class."""

import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from testbed.errors import ScenarioError
from testbed.labs.answers import read_answers
from testbed.labs.catalogue import Lab, hand_out, lab_called, labs
from testbed.labs.grade import graded
from testbed.labs.sheet import checked
from testbed.labs.trials import Trials
from tests.lab.runs import rocelab, skip_without_lab

ALL = labs()


@pytest.fixture(scope="module")
def trials() -> Trials:
    """The labs' own runs, once for all tests."""
    skip_without_lab()
    return Trials()


def solved(lab: Lab, folder: Path) -> Path:
    """Hand a lab out and put its solution over it."""
    hand_out(lab, folder, again=False)
    shutil.copytree(lab.folder / "solution", folder, dirs_exist_ok=True)
    return folder


def test_there_are_at_least_six_and_each_is_whole() -> None:
    assert [lab.number for lab in ALL] == list(range(1, len(ALL) + 1))
    assert len(ALL) >= 6
    for lab in ALL:
        names = {path.name for path in lab.folder.iterdir()}
        assert {"README.md", "answers.yaml", "check.py", "solution", "lab.yaml"} <= names
        assert f"# Lab {lab.number}: " in (lab.folder / "README.md").read_text()


@pytest.mark.parametrize("lab", ALL, ids=lambda lab: lab.name)
def test_the_solution_has_all_points_and_the_start_has_not(lab: Lab, tmp_path: Path, trials: Trials) -> None:
    points = checked(lab, solved(lab, tmp_path / "solved"), trials).points
    assert [(point.name, point.detail) for point in points if not point.ok] == []
    hand_out(lab, tmp_path / "start", again=False)
    start = checked(lab, tmp_path / "start", trials).points
    assert {point.name for point in start} == {point.name for point in points}
    assert not all(point.ok for point in start)
    questions = read_answers(tmp_path / "start")
    assert all(not point.ok for point in start if point.name in questions)


def test_a_student_goes_through_a_lab(tmp_path: Path) -> None:
    skip_without_lab()
    listed = rocelab("lab", "list", cwd=tmp_path)
    assert "One lost packet" in listed.stdout
    started = rocelab("lab", "start", "1", cwd=tmp_path)
    assert (tmp_path / "lab-1" / "fabric.yaml").is_file()
    assert not (tmp_path / "lab-1" / "check.py").exists()
    assert "rocelab lab check 1" in started.stdout
    answers = tmp_path / "lab-1" / "answers.yaml"
    answers.write_text("switches: 8\nlinks: 12\ntime: 1 parsec\nswiches: 4\n")
    done = rocelab("lab", "check", "1", cwd=tmp_path)
    assert done.returncode == 1
    assert "8 is not right: those are hosts" in done.stdout
    assert "expected a time such as 500ns" in done.stdout
    assert "check its name" in done.stdout
    assert "no answer yet" in done.stdout
    again = rocelab("lab", "start", "1", cwd=tmp_path)
    assert again.returncode == 2
    assert "may hold answers" in again.stderr
    assert "switches: 8" in answers.read_text()
    assert rocelab("lab", "start", "1", "--force", cwd=tmp_path).returncode == 0
    assert "switches:\n" in answers.read_text()


def test_a_class_is_graded_and_broken_submissions_cost_nobody_else(tmp_path: Path) -> None:
    skip_without_lab()
    lab = lab_called("2")
    solved(lab, tmp_path / "ann")
    hand_out(lab, tmp_path / "bob", again=False)
    (tmp_path / "bob" / "mended.yaml").write_text("title: [broken\n")
    hand_out(lab, tmp_path / "cid", again=False)
    (tmp_path / "cid" / "answers.yaml").write_text("psn: {\n")
    folders = [str(tmp_path / name) for name in ("ann", "bob", "cid", "dan")]
    done = rocelab("lab", "grade", "2", *folders, "--csv")
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(row["student"], row["right"]) for row in rows] == [("ann", "10"), ("bob", "0"), ("cid", "0"), ("dan", "0")]
    assert "answers.yaml:" in rows[2]["trouble"]
    assert "no such folder" in rows[3]["trouble"]
    as_json = json.loads(rocelab("lab", "grade", "2", folders[1], "--json").stdout)
    detail = {point["name"]: point["detail"] for point in as_json[0]["points"]}
    assert "mended.yaml:" in detail["mended"]


def test_a_policy_that_raises_is_shown_with_its_line(tmp_path: Path, trials: Trials) -> None:
    lab = lab_called("6")
    folder = solved(lab, tmp_path / "mine")
    (folder / "policy.py").write_text(
        "from controllers.policy import Policy\n\n\nclass Mine(Policy):\n"
        "    def on_interval(self, seen):\n        return [1 / 0]\n"
    )
    points = checked(lab, folder, trials).points
    details = [point.detail for point in points if not point.ok]
    assert len(details) == 3
    assert all("policy.py" in detail and "ZeroDivisionError" in detail for detail in details)


def test_what_a_student_hands_in_costs_that_student_alone(tmp_path: Path) -> None:
    skip_without_lab()
    lab = lab_called("3")
    good, bad = solved(lab, tmp_path / "good"), solved(lab, tmp_path / "bad")
    text = (bad / "enough.yaml").read_text()
    (bad / "enough.yaml").write_text("".join(line for line in text.splitlines(True) if "qos:" not in line))
    (bad / "answers.yaml").write_text(f"drops: {10**400}\nshare: .nan\nneeded: {'9' * 400}MiB\n")
    grades = {grade.student: grade for grade in graded(lab, [bad, good], lambda _folder: None)}
    assert grades["good"].right == len(grades["good"].points)
    assert grades["bad"].trouble is None
    assert grades["bad"].right < grades["good"].right


def test_a_students_modules_are_not_the_commands(tmp_path: Path) -> None:
    skip_without_lab()
    lab = lab_called("1")
    shutil.copy(lab.folder / "fabric.yaml", tmp_path)
    (tmp_path / "testbed").mkdir()
    (tmp_path / "testbed" / "__init__.py").write_text("")
    (tmp_path / "testbed" / "__main__.py").write_text("print('{}')\n")
    (tmp_path / "queue.py").write_text("raise SystemExit(7)\n")
    assert Trials().run(tmp_path / "fabric.yaml")["fabric.hosts"] == 8


def test_an_unknown_lab() -> None:
    with pytest.raises(ScenarioError, match=r"found 'one-lost-paket'; did you mean one-lost-packet\?"):
        lab_called("one-lost-paket")


def test_grades_of_nobody() -> None:
    assert graded(ALL[0], [], lambda _folder: None) == []
