"""What a run of the benchmark found: rows of times, the machine they hold for, and what was left out and why."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from whippletree.compiler.lanes import LANES
from whippletree.sweeps.local import processors

OURS = "whippletree"


@dataclass(slots=True)
class Row:
    """One question (forward, inverse, mass) about one model, answered by all engines in turn.

    ``seconds`` are per state; ``differences`` are relative to our answer, for simulations to a finer one; engines that
    differ too much have no time. With loops and flexible bodies differences are errors, and all have a time.
    ``operations`` are counted, not measured; ``predicted`` are seconds from counts, and ``taken`` is what auto took.
    """

    question: str
    label: str
    bodies: int
    dofs: int
    states: int = 1
    threads: int = 1
    loops: int = 0
    modes: int = 0
    pieces: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    differences: dict[str, float] = field(default_factory=dict)
    operations: dict[str, float] = field(default_factory=dict)
    predicted: dict[str, float] = field(default_factory=dict)
    taken: str = ""

    def ratio(self, engine: str) -> float | None:
        """How many times as fast ours is as ``engine``, or None where either was not timed."""
        if engine in self.seconds and OURS in self.seconds:
            return self.seconds[engine] / self.seconds[OURS]
        return None

    def fastest_peer(self) -> str | None:
        peers = {e: s for e, s in self.seconds.items() if not e.startswith(OURS)}
        return min(peers, key=peers.__getitem__) if peers else None

    def worst_difference(self) -> float | None:
        """Of the engines that were timed."""
        return max((d for e, d in self.differences.items() if e in self.seconds), default=None)


@dataclass(slots=True)
class BenchResult:
    """All rows of one run, with what is needed to repeat it."""

    family: str
    command: str
    date: str
    rounds: int
    machine: dict[str, Any]
    versions: dict[str, str]
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    scaling: dict[str, Any] | None = None
    paced: dict[str, Any] | None = None

    def engines(self) -> list[str]:
        """Ours first, then the peers in the order in which they came."""
        found = dict.fromkeys(e for row in self.rows for e in row.seconds)
        return [OURS] * (OURS in found) + [e for e in found if e != OURS]

    def asked(self, question: str) -> list[Row]:
        """The rows of one question."""
        return [row for row in self.rows if row.question == question]

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def note_growth(self, engine: str, along: str, found: tuple[float, float, float] | None) -> None:
        """First, last and slope of :func:`~.measure.slope`, where there is one."""
        if found:
            first, last, value = found
            span = f"from {first:g} to {last:g} {along}"
            self.note(f"{engine}: slope of log time against log {along} {value:.2f}, {span}")


class Statement(NamedTuple):
    """What a paper says at some place, what comes out here, whether they agree, and why not where they do not."""

    where: str
    paper: str
    here: str
    agrees: str = "yes"  # "yes", "no", "in part", or "not comparable"
    why: str = ""


def machine() -> dict[str, Any]:
    """Processor, cores, frequency (MHz, now and largest, where readable), SIMD lanes, system."""
    lines = _lines("/proc/cpuinfo")
    read = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    largest = _lines("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")
    return {
        "processor": read.get("model name") or platform.processor() or platform.machine(),
        "cores": processors(),
        "mhz": float(read["cpu MHz"]) if "cpu MHz" in read else None,
        "mhz_largest": float(largest[0]) / 1000.0 if largest else None,
        "lanes": LANES,
        "system": f"{platform.system()} {platform.machine()}",
    }


def versions(packages: dict[str, str]) -> dict[str, str]:
    """Versions of ours, of Python and of the installed packages, given as name: distribution."""
    import whippletree

    found = {OURS: whippletree.__version__, "python": platform.python_version()}
    return found | {name: version_of(package) or "not installed" for name, package in packages.items()}


def version_of(package: str) -> str | None:
    """Of an installed package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
