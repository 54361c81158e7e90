"""Outcomes of a soak, one line of JSON each, so that it goes on where it was stopped and counts by revision."""

import json
import subprocess
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]


def revision():
    """Of the sources that run, with a + where they have been edited since."""
    git = ["git", "-C", str(HERE)]
    name = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True).stdout
    edited = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "src"]).returncode
    return name.strip() + ("+" if edited else "")


class Journal:
    """``path``: a file that is read, where it exists, and written to; None keeps nothing."""

    def __init__(self, path=None):
        self.path, self.rows, self.revision = path and Path(path), {}, revision()
        if self.path and self.path.exists():
            lines = self.path.read_text().splitlines()
            self.rows = {row["n"]: row for row in map(json.loads, filter(None, lines))}

    def add(self, n, **row):
        self.rows[n] = {"n": n, "revision": self.revision, **row}
        if self.path:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a") as file:
                file.write(json.dumps(self.rows[n]) + "\n")

    def left(self, count):
        """Numbers below the count that have no outcome yet."""
        return (n for n in range(count) if n not in self.rows)

    def revisions(self):
        """How many outcomes there are of each revision."""
        return Counter(row["revision"] for row in self.rows.values())
