"""The documents agree with the project: links lead somewhere, what they name exists, the table of scenarios is current.

After a scenario was added or changed: ``./rocelab test tests/test_docs.py --update-golden``.
"""

import re
from pathlib import Path

import pytest

from testbed.cli.scenarios import FOLDER, builtin_scenarios
from testbed.fabric.build import build_plan
from testbed.report.tables import TABLES
from testbed.scenario.collectives import Collective, Counted, Ranks
from testbed.scenario.load import load_scenario
from testbed.scenario.model import Fault, Scenario, Work
from testbed.scenario.traces import TraceReplay
from testbed.units import format_size
from tests.conftest import GoldenCheck
from tests.markdown import DOCUMENTS, ROOT, anchors, blocks, links, prose, spans

README, DESIGN = ROOT / "README.md", ROOT / "docs" / "design.md"
BEGIN = "<!-- the table: made by tests/test_docs.py --update-golden -->\n\n"
END = "\n<!-- end of the table -->\n"


def name(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


# --- links and names -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_links_lead_somewhere(document: Path) -> None:
    dead = []
    for link in links(document):
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        if re.match(r"https?:", link):
            continue
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    assert dead == []


def test_every_document_is_reachable_from_the_readme() -> None:
    seen: set[Path] = set()
    ahead = [README]
    while ahead:
        document = ahead.pop()
        seen.add(document)
        here = [(document.parent / link.partition("#")[0]).resolve() for link in links(document)]
        ahead += [file for file in here if file.suffix == ".md" and file.exists() and file not in seen]
    assert set(DOCUMENTS) - seen == set()


_PATH = re.compile(r"(?:[\w.-]+/)+[\w.-]*|[\w-]+\.(?:md|py|yaml|sh|toml|lock)")
_MADE_ELSEWHERE = ("runs/", "results/", "my_", "/", "10.", "fd00", "lower", "leaf")
"""What a run makes, and what only looks like a path: addresses, places of the machine."""


def paths_named(document: Path) -> set[str]:
    """Return what the code spans of `document` name that looks like a file or folder of the project."""
    words = {word for span in spans(document) for word in span.split()}
    return {word for word in words if _PATH.fullmatch(word) and not word.startswith(_MADE_ELSEWHERE)}


@pytest.mark.parametrize(
    "document", [README, DESIGN, ROOT / "CHANGELOG.md", ROOT / "scenarios" / "README.md"], ids=name
)
def test_files_that_are_named_exist(document: Path) -> None:
    bases = (ROOT, document.parent)
    assert [path for path in sorted(paths_named(document)) if not any((base / path).exists() for base in bases)] == []


def test_the_design_names_files() -> None:
    """What the test above looks at, so that it cannot pass by looking at nothing."""
    assert {"testbed/engine/loop.py", "testbed/outside/ovs_forwarder.py"} <= paths_named(DESIGN)


def source_words() -> set[str]:
    folders = ("testbed", "controllers", "traffic")
    text = "".join(path.read_text("utf-8") for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return set(re.findall(r"\w+", text))


def test_names_in_the_design_are_those_of_the_source() -> None:
    """Every span that is one name, dotted or called, is made of words that the source has."""
    names = [span for span in spans(DESIGN) if re.fullmatch(r"[A-Za-z_][\w.]*(\(\))?", span) and "/" not in span]
    known = source_words()
    assert [span for span in names if not set(re.findall(r"\w+", span)) <= known] == []
    assert len(names) > 20


def test_every_package_is_in_the_design() -> None:
    packages = {path.parent for folder in ("testbed", "traffic") for path in (ROOT / folder).glob("*/__init__.py")}
    text = prose(DESIGN)
    assert [name(package) for package in sorted(packages) if f"{name(package)}/" not in text] == []


def test_the_run_directory_is_described_in_the_readme() -> None:
    tables = {f"{table}.parquet" for table in TABLES}
    files = {
        row.split("`")[1] for row in prose(README).splitlines() if row.startswith("| `") and "." in row.split("`")[1]
    }
    assert tables | {"summary.json", "capture.pcapng"} <= files


def test_the_readme_says_what_is_installed() -> None:
    bootstrap = (ROOT / "rocelab").read_text("utf-8")
    packages = re.findall(r"need \S+ ([a-z][\w-]+)", bootstrap) + re.findall(r'packages[ }]+([a-z][\w-]+)"', bootstrap)
    assert {"openvswitch-switch", "python3-venv", "libtcmalloc-minimal4"} <= set(packages)
    installed = prose(README).partition("## Installation")[2].partition("\n## ")[0]
    assert [package for package in sorted(packages) if f"`{package}`" not in installed] == []


def test_the_readme_shows_the_policy_of_the_manual() -> None:
    """That one is run by a test; the README's leaves out a part of its description."""
    shown, manual = (
        next(block.text for block in blocks(path) if block.language == "python")
        for path in (README, ROOT / "docs" / "policies.md")
    )
    code = [line for line in shown.splitlines() if '"""' not in line]
    assert [line for line in code if line not in manual.splitlines()] == []


def test_the_changelog_has_the_version() -> None:
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text("utf-8"), flags=re.MULTILINE)
    assert version is not None
    assert f"## [{version[1]}]" in prose(ROOT / "CHANGELOG.md")


def test_blocks_say_what_they_are() -> None:
    """A block without a language would be a command that nobody runs."""
    languages = {"sh", "text", "yaml", "python"}
    documents = [document for document in DOCUMENTS if name(document) != "docs/scenarios.md"]  # tests/scenario
    assert [str(block) for document in documents for block in blocks(document) if block.language not in languages] == []


# --- the table of scenarios ------------------------------------------------------------------------------------------


def table() -> str:
    rows = [_row(Path(item["file"])) for item in builtin_scenarios()]
    return "| Scenario | Fabric | What runs | What is broken |\n|---|---|---|---|\n" + "".join(rows)


def _row(file: Path) -> str:
    scenario = load_scenario(file)
    works = "; ".join(_work(work) for work in scenario.workload)
    faults = "; ".join(_fault(fault) for fault in scenario.faults) or "nothing"
    return f"| [{file.stem}]({file.name}): {scenario.title} | {_fabric(scenario)} | {works} | {faults} |\n"


def _fabric(scenario: Scenario) -> str:
    plan = build_plan(scenario.fabric)
    switches = "1 switch" if len(plan.switches) == 1 else f"{len(plan.switches)} switches"
    return f"{plan.topology}, {len(plan.hosts)} hosts, {switches}"


def _work(work: Work) -> str:
    if isinstance(work, Collective):
        size = getattr(work, "size", None)
        of = f" of {format_size(size)}" if size else ""
        return f"{work.algorithm} {work.kind}{of}, {_ranks(work.ranks)}"
    if isinstance(work, TraceReplay):
        return f"trace {', '.join(Path(file).name for file in work.files)}"
    if work.kind == "replay":
        return "packet replay"
    if work.pattern == "listed":
        return f"{len(work.flows)} flow{'s' if len(work.flows) > 1 else ''}"
    return f"{work.kind}, {work.pattern}"


def _ranks(ranks: Ranks) -> str:
    if isinstance(ranks, Counted):
        count = "all hosts" if ranks.count is None else f"{ranks.count} ranks"
        return count if ranks.per_host == 1 else f"{count}, {ranks.per_host} a host"
    return "all hosts" if ranks == "all" else f"{len(ranks)} ranks"


def _fault(fault: Fault) -> str:
    place = fault.link if fault.kind == "link-down" else fault.port
    return f"{fault.kind} at {place}"


def test_the_table_of_scenarios_is_current(golden: GoldenCheck) -> None:
    file = FOLDER / "README.md"
    text = file.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    golden(file, f"{before}{BEGIN}{table()}{END}{after}")
