"""Lab 6: a student's policy on three trials, against no policy."""

from testbed.labs.sheet import Sheet
from testbed.units import format_time

INCASTS = ("incast.yaml", "two-incasts.yaml")
FEWER = 5
SLOWER = {"incast.yaml": 2.5, "two-incasts.yaml": 2.5, "all-reduce.yaml": 1.1}


def check(sheet: Sheet) -> None:
    sheet.asks("pauses", "Pauses of incast.yaml without a policy?", sheet.run("incast.yaml")["totals.pauses"])
    policy = sheet.own / "policy.py"
    if not policy.is_file():
        sheet.demands("policy", "policy.py is there", ok=False)
        return
    for file in SLOWER:
        with sheet.part(file, f"policy.py runs on {file}"):
            _trial(sheet, file, str(policy.resolve()))


def _trial(sheet: Sheet, file: str, policy: str) -> None:
    name = file.removesuffix(".yaml")
    before, mine = sheet.run(file), sheet.run_with_own(file, "--policy", policy)
    if file in INCASTS:
        pauses, allowed = mine["totals.pauses"], before["totals.pauses"] // FEWER
        sheet.demands(f"{name}: pauses", f"{name}: at most {allowed} pauses", pauses <= allowed, f"{pauses} pauses")
    sheet.demands(
        f"{name}: drops", f"{name}: nothing is dropped", mine["drops.total"] == 0, f"{mine['drops.total']} drops"
    )
    limit = int(before["duration_ps"] * SLOWER[file])
    duration = mine["duration_ps"]
    sheet.demands(
        f"{name}: time", f"{name}: done within {format_time(limit)}", duration <= limit, format_time(duration)
    )
