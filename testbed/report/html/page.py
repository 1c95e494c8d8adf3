"""The page: data, scripts, style and chart library put together into one file."""

import json
from pathlib import Path
from typing import Any

from testbed.report.html.read import RunFiles
from testbed.report.html.run_data import compare_data, run_data

REPORT_FILE = "report.html"
_HERE = Path(__file__).parent
_COMMON = ("units.js", "theme.js", "cursor.js", "plot.js", "tables.js", "causes.js")
_OF_RUN = (*_COMMON, "fabric.js", "gantt.js", "queues.js", "rates.js", "report.js")
_OF_COMPARISON = (*_COMMON, "compare.js")


def write_report(directory: Path, summary: dict[str, Any], out: Path | None = None) -> Path:
    """Write the report of the finished run in `directory` to `out` (default: report.html in it); return its path."""
    path = out or directory / REPORT_FILE
    path.write_text(_page("report.html", _OF_RUN, run_data(RunFiles(directory, summary))), encoding="utf-8")
    return path


def write_comparison(runs: list[tuple[str, Path, dict[str, Any]]], out: Path) -> None:
    """Write the page of several runs (the name, directory and summary of each) to `out`."""
    data = compare_data([(name, RunFiles(directory, summary)) for name, directory, summary in runs])
    out.write_text(_page("compare.html", _OF_COMPARISON, data), encoding="utf-8")


def _page(template: str, scripts: tuple[str, ...], data: dict[str, Any]) -> str:
    parts = {
        "style": _asset("style.css"),
        "library": (_HERE / "vendor" / "echarts.min.js").read_text(encoding="utf-8"),
        "scripts": "\n".join(_asset(name) for name in scripts),
        "data": as_script_data(data),
    }
    page = _asset(template)
    for name, text in parts.items():
        before, after = page.split(f"{{{{{name}}}}}")
        page = before + text + after
    return page


def _asset(name: str) -> str:
    return (_HERE / "assets" / name).read_text(encoding="utf-8")


def as_script_data(data: dict[str, Any]) -> str:
    """Return `data` as JSON that can stand in a <script>: no text in it ends the element or opens a comment."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
