"""The page: data, scripts, style and chart library put together into one file.

`assets/page.html` is the frame of both pages, of a run and of a comparison; what differs is its body and the scripts.
"""

import errno
import html
import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from testbed.report.html.read import RunFiles
from testbed.report.html.run_data import compare_data, run_data

REPORT_FILE = "report.html"
_HERE = Path(__file__).parent
_COMMON = ("units.js", "controls.js", "theme.js", "cursor.js", "keys.js", "plot.js", "tables.js", "causes.js")
_OF_RUN = (*_COMMON, "fabric.js", "gantt.js", "queues.js", "rates.js", "report.js")
_OF_COMPARISON = (*_COMMON, "compare.js")
_NOT_REPLACED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.ENAMETOOLONG)
"""Why what can be written may not be replaced: the folder is not ours, the file is mounted, its name is very long."""


def write_report(directory: Path, summary: dict[str, Any], out: Path | None = None) -> Path:
    """Write the report of the finished run in `directory` to `out` (default: report.html in it); return its path."""
    path = out or directory / REPORT_FILE
    _write(path, _page("report.html", _OF_RUN, run_data(RunFiles(directory, summary))))
    return path


def write_comparison(runs: list[tuple[str, Path, dict[str, Any]]], out: Path) -> None:
    """Write the page of several runs (the name, directory and summary of each) to `out`."""
    data = compare_data([(name, RunFiles(directory, summary)) for name, directory, summary in runs])
    _write(out, _page("compare.html", _OF_COMPARISON, data))


def _write(path: Path, page: str) -> None:
    """Write `page` whole or not at all: the page that was there before stays until the new one is complete.

    What is no file of its own (a pipe, a device, a symbolic link's other end) is written as it stands, and so is a file
    whose folder lets nothing take its place. Raises OSError, which names `path`.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        path.write_text(page, encoding="utf-8")
        return
    try:
        _replace(path, page)
    except OSError as error:
        if error.errno in _NOT_REPLACED:
            path.write_text(page, encoding="utf-8")
        else:
            raise OSError(error.errno, error.strerror, str(path)) from error


def _replace(path: Path, page: str) -> None:
    """Write `page` beside `path`, and let it take its place when it is complete."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        unfinished.write_text(page, encoding="utf-8")
        os.replace(unfinished, path)
    except BaseException:
        with suppress(OSError):  # what went wrong first is what matters
            unfinished.unlink()
        raise


def _page(body: str, scripts: tuple[str, ...], data: dict[str, Any]) -> str:
    parts = {
        "title": html.escape(str(data["title"])),
        "style": _asset("style.css"),
        "body": _asset(body),
        "data": as_script_data(data),
        "library": (_HERE / "vendor" / "echarts.min.js").read_text(encoding="utf-8"),
        "scripts": "\n".join(_asset(name) for name in scripts),
    }
    pieces = re.split(r"\{\{(\w+)\}\}", _asset("page.html"))
    return "".join(parts[piece] if index % 2 else piece for index, piece in enumerate(pieces))


def _asset(name: str) -> str:
    return (_HERE / "assets" / name).read_text(encoding="utf-8")


def as_script_data(data: dict[str, Any]) -> str:
    """Return `data` as JSON that can stand in a <script>: no text in it ends the element or opens a comment."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
