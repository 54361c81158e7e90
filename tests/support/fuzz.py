"""Wrong files by the million, for every reader, each in a process that may die of them.

python tests/support/fuzz.py [READER ...] --cases N --seconds S goes on where it stopped, keeps what it finds in
.cache/fuzz/READER/, and ends with exit code 1 if that is anything. With atheris installed and --coverage, files that
reach new lines are kept and changed further; without, every case is made of a valid file by its number.
"""

import argparse
import faulthandler
import json
import mmap
import os
import resource
import signal
import struct
import sys
import time
import traceback
from pathlib import Path
from typing import NamedTuple

import fuzz_readers
from fuzz_mutations import mutated_bytes
from fuzz_readers import READERS
from whippletree.errors import WhippletreeError

LONGEST = 10.0  # s of computing in one case
STILL = 120.0  # s of waiting for something; who waits for a core only has busy neighbours
LARGEST = 2**30  # bytes that one case may add to the process
WEIGHED = 64  # cases between two looks at the memory, which take as long as a case
SLICE = 10_000  # cases between two notes of how far it has come
MOST_REPORTED = 100  # findings of one worker: a pipe does not hold more
KEPT = Path(__file__).parents[2] / ".cache" / "fuzz"
NOW = struct.Struct("<qdd")  # the case at work, and since when, by the clock and in its own time


class Finding(NamedTuple):
    reader: str
    case: int
    what: str

    def __str__(self) -> str:
        return f"{self.reader} {self.case}: {self.what}"


def campaign(name: str, begin: int, end: int, until: float = float("inf")) -> tuple[int, list[Finding]]:
    """Cases ``begin`` to ``end`` of a reader, or as many as there is time for: where it stopped, and what it found."""
    shared, findings, at = mmap.mmap(-1, NOW.size), [], begin
    READERS[name].check_seeds()
    while at < end and time.monotonic() < until:
        NOW.pack_into(shared, 0, at, time.monotonic(), 0.0)
        receive, send = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(receive)
            _work(name, at, end, until, shared, send)
        os.close(send)
        ended = _watch(pid, shared)
        with os.fdopen(receive, "rb") as reported:
            findings += [Finding(name, *json.loads(line)) for line in reported]
        at = NOW.unpack_from(shared)[0]
        if ended:
            findings.append(Finding(name, at, ended))
            at += 1
        elif time.monotonic() < until:
            break
    return min(at, end), findings


def _watch(pid: int, shared: mmap.mmap) -> str | None:
    """Wait for the worker: why it died, if it did."""
    pause = 0.001
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        seen = _, clock, own = NOW.unpack_from(shared)
        time.sleep(pause)
        pause = min(2 * pause, 0.02)
        if NOW.unpack_from(shared) != seen:  # it goes on, or we looked while it wrote
            continue
        if time.monotonic() - clock < LONGEST:
            continue
        spent, ready = _spent(pid)
        if spent - own > LONGEST or (time.monotonic() - clock > STILL and not ready):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return f"more than {LONGEST:g} s" if spent - own > LONGEST else f"waited for more than {STILL:g} s"
    if os.WIFSIGNALED(status):
        return f"the process died of {signal.Signals(os.WTERMSIG(status)).name}"
    return f"the process ended with {os.WEXITSTATUS(status)}" if os.WEXITSTATUS(status) else None


def _spent(pid: int) -> tuple[float, bool]:
    """Seconds that a process has computed, and whether it would go on if it had a core."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), fields[0] == "R"


def _work(name: str, at: int, end: int, until: float, shared: mmap.mmap, send: int) -> None:
    """The worker: tells its findings through a pipe and never returns."""
    code = 1
    try:
        quiet = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(quiet, stream)
        faulthandler.disable()  # whoever forked us may have switched it on
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (held + 4 * LARGEST,) * 2)  # so that the machine survives
        reader, reported, held = READERS[name], 0, heaviest()
        while at < end and time.monotonic() < until:
            NOW.pack_into(shared, 0, at, time.monotonic(), time.process_time())
            what = trial(reader.read, reader.case(at))
            if at % WEIGHED == 0 and (grown := heaviest() - held) > LARGEST:
                what, held = f"{grown / 1e9:.2f} GB of memory, here or in the {WEIGHED} cases before", heaviest()
            if what and reported < MOST_REPORTED:
                reported += 1
                os.write(send, json.dumps([at, what]).encode() + b"\n")
            at += 1
        NOW.pack_into(shared, 0, at, time.monotonic(), time.process_time())
        code = 0
    finally:
        os._exit(code)


def heaviest() -> int:
    """Bytes that this process had in memory at most."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def trial(read, data: bytes) -> str | None:
    """What is wrong with how a reader takes these bytes; None if nothing is."""
    try:
        read(data)
    except WhippletreeError as error:
        if not str(error).strip():
            return "a refusal without words"
    except BaseException as error:
        frames = traceback.extract_tb(error.__traceback__)
        ours = [f for f in frames if f"{os.sep}whippletree{os.sep}" in f.filename]
        place = ", ".join(f"{Path(f.filename).name}:{f.lineno}" for f in (*ours[-1:], *frames[-1:]))
        return f"{type(error).__name__}: {str(error)[:200]} ({place})"
    return None


def covered(name: str, cases: int, until: float) -> tuple[int, list[Finding]]:
    """As many cases, led by atheris to lines not reached before; the files that lead there are kept."""
    place = KEPT / name
    corpus = place / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    READERS[name].check_seeds()
    for k, seed in enumerate(READERS[name].seeds):
        (corpus / f"seed{k}").write_bytes(seed)
    made, findings = 0, []
    while made < cases and time.monotonic() < until:
        receive, send = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(receive)
            _led(name, cases - made, until, corpus, send)
        os.close(send)
        with os.fdopen(receive, "rb") as reported:
            for line in reported:
                number, what = json.loads(line)
                made = made + number if what is None else made
                findings += [] if what is None else [Finding(name, number, what)]
        status = os.waitpid(pid, 0)[1]
        if status and not os.WIFEXITED(status):
            findings.append(Finding(name, -1, f"the process died, see {place}"))
        elif os.WEXITSTATUS(status) not in (0, 1):
            findings.append(Finding(name, -1, f"libFuzzer stopped with {os.WEXITSTATUS(status)}, see {place}"))
    return made, findings


def _led(name: str, cases: int, until: float, corpus: Path, send: int) -> None:
    """The worker of :func:`covered`: libFuzzer never returns from it."""
    from random import Random

    import atheris

    reader, count, found = READERS[name], 0, set()

    def one(data: bytes) -> None:
        nonlocal count
        count += 1
        what = trial(reader.read, data)
        if what and what.rpartition("(")[2] not in found:
            found.add(what.rpartition("(")[2])
            kept = corpus.parent / f"found{abs(hash(what)) % 10**8}"
            kept.write_bytes(data)
            os.write(send, json.dumps([count, f"{what} in {kept}"]).encode() + b"\n")
        if count % 200 == 0:
            os.write(send, json.dumps([200, None]).encode() + b"\n")

    def change(data: bytes, most: int, seed: int) -> bytes:
        chance = Random(seed)
        if chance.random() < 0.2:
            return atheris.Mutate(data, most)
        try:
            return reader.mutate(bytes(data), chance, reader.seeds)[:most]
        except Exception:  # no longer a file whose parts can be changed
            return mutated_bytes(bytes(data), chance, reader.seeds)[:most]

    quiet = os.open(corpus.parent / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(quiet, stream)
    for module in [m for n, m in sys.modules.items() if n.startswith(READ_BY)]:
        for part in vars(module).values():
            if getattr(part, "__module__", None) == module.__name__ and hasattr(part, "__code__"):
                atheris.instrument_func(part)
            elif isinstance(part, type) and part.__module__ == module.__name__:
                for method in vars(part).values():
                    if hasattr(method, "__code__"):
                        atheris.instrument_func(method)
    seconds = max(1, int(min(until - time.monotonic(), 1e6)))
    options = [f"-runs={cases}", f"-max_total_time={seconds}", f"-timeout={LONGEST:g}", "-rss_limit_mb=4096"]
    options += [f"-artifact_prefix={corpus.parent}/", "-max_len=262144", "-len_control=0", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], one, custom_mutator=change)
    atheris.Fuzz()


READ_BY = ("whippletree.files", "whippletree.modes", "whippletree.model", "whippletree.result.netcdf", "tomllib")
READ_BY += (
    "whippletree.sweeps.journal",
    "whippletree.sweeps.study",
    "whippletree.sweeps.designs",
    "whippletree.realtime.messages",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("readers", nargs="*", metavar="READER", help=", ".join(READERS))
    parser.add_argument("--cases", type=int, default=1_000_000, help="of each reader, with those of earlier calls")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="of each reader, at most")
    parser.add_argument("--coverage", action="store_true", help="let atheris lead")
    parser.add_argument("--show", type=int, metavar="CASE", help="print the file of a case, and what comes of it")
    given = parser.parse_args()
    if given.show is not None:
        data = READERS[given.readers[0]].case(given.show)
        sys.stdout.buffer.write(data)
        READERS[given.readers[0]].read(data)
        return 0
    total = 0
    for name in given.readers or READERS:
        count, begun = KEPT / name / ("led" if given.coverage else "done"), time.monotonic()
        count.parent.mkdir(parents=True, exist_ok=True)
        done = int(count.read_text()) if count.exists() else 0
        until = begun + given.seconds
        reached, found = done, 0
        while reached < given.cases and time.monotonic() < until:
            some = min(given.cases, reached + SLICE)
            if given.coverage:
                made, findings = covered(name, some - reached, until)
                reached += made
            else:
                reached, findings = campaign(name, reached, some, until)
            count.write_text(str(reached))
            for finding in findings:
                print(finding, flush=True)
            with open(KEPT / name / "findings", "a") as file:
                file.writelines(f"{finding}\n" for finding in findings)
            found += len(findings)
        total += found
        spent = time.monotonic() - begun
        print(f"{name}: {reached - done} cases in {spent:.0f} s, {reached} in all, {found} findings", flush=True)
    return 1 if total else 0


if __name__ == "__main__":
    fuzz_readers.folder()
    sys.exit(main())
