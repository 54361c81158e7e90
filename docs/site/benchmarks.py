"""Writes docs/benchmarks.md and the table of the README from the committed numbers in benchmarks/.

python docs/site/benchmarks.py
"""

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
README, PAGE = ROOT / "README.md", ROOT / "docs" / "benchmarks.md"
PEERS = {"Pinocchio": "pinocchio", "MuJoCo": "mujoco", "Drake": "drake"}
MARK = "<!-- results -->"
# what is asked; the file, question and label of the row
HEADLINES = [
    ("forward dynamics of a chain, 7 joints", "chain_targets", "forward", "7"),
    ("30 joints", "chain_targets", "forward", "30"),
    ("128 joints", "chain_targets", "forward", "128"),
    ("inverse dynamics, 7 joints", "chain_targets", "inverse", "7"),
    ("30 joints", "chain_targets", "inverse", "30"),
    ("mass matrix, 7 joints", "chain_targets", "mass", "7"),
    ("30 joints", "chain_targets", "mass", "30"),
    ("forward dynamics of 4,096 states, a state, 7 joints", "batch", "forward", "7, 1 thread"),
    ("30 joints", "batch", "forward", "30, 1 thread"),
    ("a step of RK4 in a batch, arm of 7 joints", "rollout", "rollout", "arm7, 1 thread"),
    ("humanoid of 35 degrees of freedom", "rollout", "rollout", "g1_29dof_rev_1_0, 1 thread"),
    ("10 s of motion at the same error, 7 joints", "simulate", "simulate", "7, dop853 at 2.5e-08 / pinocchio DOP853"),
    ("30 joints", "simulate", "simulate", "30, dop853 at 2.5e-08 / pinocchio DOP853"),
    ("closed loops: ladder of 64", "ladder_targets", "forward", "64"),
    ("ladder of 256", "ladder_targets", "forward", "256"),
    ("one Stewart platform", "stewart", "forward", "1 platforms"),
    ("16 Stewart platforms", "stewart", "forward", "16 platforms"),
]  # fmt: skip


def read(name: str) -> dict[str, Any]:
    return json.loads((ROOT / "benchmarks" / f"{name}.json").read_text("utf-8"))


def headlines() -> str:
    """Our time, how many times as long each peer takes by its fastest way, and its error where that is not rounding."""
    rows = [f"| | Whippletree | {' | '.join(PEERS)} | numbers |", "|---|---|" + "---|" * len(PEERS) + "---|"]
    for words, file, question, label in HEADLINES:
        row = next(r for r in read(file)["rows"] if (r["question"], r["label"]) == (question, label))
        cells = [_peer(row, engine) for engine in PEERS.values()]
        link = f"[{file.removesuffix('_targets')}](benchmarks/{file}.json)"
        rows.append(f"| {words} | {_time(row['seconds']['whippletree'])} | {' | '.join(cells)} | {link} |")
    return "\n".join(rows)


def _peer(row: dict[str, Any], engine: str) -> str:
    ways = {name: seconds for name, seconds in row["seconds"].items() if name.startswith(engine)}
    if not ways:
        return "-"
    best = min(ways, key=ways.__getitem__)
    error = row["differences"].get(best, 0.0) if row["question"] == "forward" else 0.0
    wrong = f", error {error:.0e}".replace("e-0", "e-") if error > 1e-8 else ""
    return f"{ways[best] / row['seconds']['whippletree']:.2g}x{wrong}"


def _time(seconds: float) -> str:
    unit, size = ("s", 1.0) if seconds >= 1.0 else ("ms", 1e-3) if seconds >= 1e-3 else ("µs", 1e-6)
    return f"{seconds / size:.3g} {unit}"


def page() -> str:
    """Every committed result: its command, its machine, and its rows."""
    parts = [HEAD]
    for path in sorted((ROOT / "benchmarks").glob("*.json")):
        result = read(path.stem)
        versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
        parts.append(
            f"## {path.stem.replace('_', ', ')}\n\n`{result['command']}`\n\n{result['date'][:10]}; {versions}\n"
        )
        parts.append(_table(result["rows"]))
        parts += ["", *(f"- {note}" for note in result["notes"]), ""]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).rstrip() + "\n"


def _table(rows: list[dict[str, Any]]) -> str:
    """One line for each way of each row: its time, that over ours, and its difference."""
    lines = ["| question | size | by | time | over ours | difference |", "|---|---|---|---|---|---|"]
    for row in rows:
        first = row["seconds"].get("whippletree")
        for name, seconds in row["seconds"].items():
            difference = row["differences"].get(name)
            reported = "" if difference is None else f"{difference:.0e}"
            ratio = f"{seconds / first:.3g}" if first else ""
            lines.append(f"| {row['question']} | {row['label']} | {name} | {_time(seconds)} | {ratio} | {reported} |")
    return "\n".join(lines)


HEAD = """# Benchmarks

<!-- written by docs/site/benchmarks.py from benchmarks/*.json: measure anew, and run make pages -->

Every reported speed is in one of these files, with the command that measured it, the machine and the
versions. All are of public Python calls, in one process, engines taking turns, the best of many rounds, after their
answers were checked to agree. The machine is a virtual one with two cores of an AMD EPYC (AVX2, 4 lanes). Ratios carry
over to other machines better than times do; [Speed](guides/speed.md#measure) tells how to measure on yours. "Over ours"
is the time over that of the row's `whippletree`; what the difference is taken against is in the notes.

![Time of one evaluation against the number of DOF, for Whippletree, Pinocchio, MuJoCo and Drake](images/chain.png)

![Time and error against the number of loops of a ladder](images/ladder.png)
"""


def readme() -> str:
    """The README with its table as the numbers are."""
    before, _, after = README.read_text("utf-8").split(MARK)
    return f"{before}{MARK}\n\n{headlines()}\n\n{MARK}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    README.write_text(readme(), "utf-8")
