"""Every reader as a function of bytes that may refuse them in one way only, with valid files to begin from.

``READERS[name].read(data)`` returns, or raises a WhippletreeError. Anything else is a finding, as are ten seconds, a
gigabyte, and the end of the process. ``READERS[name].case(k)`` is the k-th wrong file, always the same.
"""

import io
import json
import os
import struct
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from random import Random
from unittest import mock

import numpy as np

import whippletree as wt
from fuzz_mutations import mutated_bytes, mutated_text
from whippletree.files.toml import loads as read_toml
from whippletree.integrate.run.checkpoint import Checkpoint
from whippletree.realtime.messages import FIELDS, Catalogue, decode, identity, parse, refusal
from whippletree.sweeps import journal
from whippletree.sweeps.designs import RANDOM, make_plan
from whippletree.sweeps.single import DONE, FAILED, Outcome
from whippletree.sweeps.study import Sweep

nastran = import_module("whippletree.modes.readers.nastran")  # not the function of that name
ROOT = Path(__file__).parents[2]
SMALL = 1500  # bytes of a model that is worth changing: larger ones take longer and say the same


class Reader:
    def __init__(self, read: Callable[[bytes], None], seeds: Callable[[], list[bytes]], mutate=mutated_text):
        self.read, self._seeds, self.mutate = read, seeds, mutate

    @cached_property
    def seeds(self) -> list[bytes]:
        return self._seeds()

    def case(self, number: int) -> bytes:
        chance = Random(number)
        return self.mutate(chance.choice(self.seeds), chance, self.seeds)

    def check_seeds(self) -> None:
        """Valid files must be read: a reader that refuses all would find nothing."""
        for seed in self.seeds:
            self.read(seed)


@cache
def folder() -> Path:
    """Of this process, in memory where there is a disk of it."""
    made = tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    return Path(made)


def in_file(name: str, use: Callable[[Path], object]) -> Callable[[bytes], None]:
    """A reader of files, from one that has this name."""

    def read(data: bytes) -> None:
        path = folder() / name
        path.write_bytes(data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            use(path)

    return read


# ---- models


def small_models() -> list[bytes]:
    found = [p.read_bytes() for p in sorted((ROOT / "models").glob("*.toml"))]
    return [text for text in found if len(text) < SMALL and b"[flexible" not in text] + 3 * [EVERYTHING]


EVERYTHING = b"""name = "parts"
gravity = [0, 0, -9.81]
[bodies.a]
mass = 1.0
com = [0.1, 0, 0]
inertia = [[1e-2, 0, 0], [0, 1e-2, 0], [0, 0, 1e-2]]
visuals = [{shape = "box", size = [1, 1, 1], at = {position = [0, 0, 1], rpy = [0, 0, 1]}, color = [1, 0, 0, 1]}]
[bodies.b]
shape = "rod"
mass = 2.0
length = 0.5
axis = "-x"
[bodies.c]
shape = "sphere"
mass = 1.0
radius = 0.1
[flexible.d]
shape = "beam"
length = 1.0
E = 7e10
rho = 2700.0
section = "circle"
radius = 0.01
elements = 1
degree = 3
count = 1
[joints.j1]
kind = "revolute"
parent = "ground"
child = "a"
axis = "y"
stiffness = 1.0
damping = 0.1
limits = {lower = -1.0, upper = 1.0, stiffness = 1e3, damping = 1.0}
[joints.j2]
kind = "spherical"
parent = "a"
child = "b"
at = [0.2, 0, 0]
child_at = {position = [0, 0, 0], quaternion = [1, 0, 0, 0]}
[joints.j3]
kind = "free"
parent = "ground"
child = "c"
[joints.j4]
kind = "screw"
parent = "ground"
child = "d"
pitch = 0.01
[frames.tip]
body = "b"
at = [0.5, 0, 0]
[couplings.j4]
of = "j1"
ratio = 2.0
offset = 0.1
[forces.spring]
kind = "spring"
body = "tip"
to = "c"
stiffness = 10.0
length = 0.1
[forces.motor]
kind = "motor"
joint = "j1"
torque = {kind = "sine", amplitude = 1.0, frequency = 2.0}
[constraints.rope]
kind = "distance"
body = "c"
to = "ground"
length = 2.0
[constraints.roll]
kind = "roll"
body = "c"
to = "ground"
radius = 0.1
[temporary.rope]
begins = "open"
unilateral = true
restitution = 0.5
"""

URDF = b"""<?xml version="1.0"?>
<robot name="r">
<material name="blue"><color rgba="0 0 1 1"/></material>
<link name="a"/>
<link name="b"><inertial><origin xyz="0 0 1" rpy="0 0 0.1"/><mass value="2"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
<visual><geometry><box size="1 1 1"/></geometry><material name="blue"/></visual>
<visual><geometry><mesh filename="package://r/b.stl" scale="1 1 1"/></geometry></visual></link>
<link name="c"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0 0 1"/><axis xyz="0 0 2"/>
<limit lower="-1" upper="1" effort="10" velocity="2"/><dynamics damping="0.1" friction="0.2"/></joint>
<joint name="k" type="prismatic"><parent link="b"/><child link="c"/><axis xyz="1 0 0"/>
<mimic joint="j" multiplier="2" offset="0.1"/></joint>
</robot>
"""

MJCF = [
    b"""<mujoco model="m">
<compiler angle="degree" autolimits="true"/>
<option gravity="0 0 -9.81"/>
<default><joint damping="1"/><default class="thin"><geom size="0.01"/></default></default>
<asset><mesh name="tet" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/><material name="red" rgba="1 0 0 1"/></asset>
<worldbody>
<light pos="0 0 1"/>
<geom type="plane" size="1 1 1"/>
<body name="a" pos="0 0 1" euler="0 90 0">
<joint name="j" type="hinge" axis="0 1 0" range="-90 90" stiffness="2" springref="10" armature="0.1"/>
<geom type="capsule" fromto="0 0 0 0 0 1" size="0.1" material="red"/>
<site name="s" pos="0 0 1"/>
<body name="b" pos="0 0 1"><joint name="k" type="slide" axis="1 0 0"/><joint name="l" type="ball"/>
<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body>
</body>
<body name="c"><freejoint/><geom type="mesh" mesh="tet"/></body>
<replicate count="2" offset="1 0 0"><body><joint/><geom class="thin"/></body></replicate>
</worldbody>
<equality><joint joint1="j" joint2="k" polycoef="0 1 0 0 0"/></equality>
<actuator><motor joint="j"/></actuator>
</mujoco>
""",
    b'<mujoco>\n<worldbody>\n<body name="a">\n<joint name="j"/><geom size="0.1"/>\n</body>\n</worldbody></mujoco>\n',
]


def compiled(path: Path) -> None:
    wt.load(path).compile()


# ---- modes


@cache
def small_beam():
    return wt.beam(length=1.0, section="circle", radius=0.01, elements=1, degree=3)


@cache
def matrices() -> dict[str, np.ndarray]:
    """Three nodes with mass and rotary inertia on a line, and springs in all directions between neighbours."""
    r = np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [1.0, 0.0, 0.0]])
    K = np.zeros((18, 18))
    for k in range(2):
        lever = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.5], [0.0, -0.5, 0.0]])  # θ x (r2 - r1)
        D = np.hstack([-np.block([[np.eye(3), lever], [np.zeros((3, 3)), np.eye(3)]]), np.eye(6)])
        K[6 * k : 6 * k + 12, 6 * k : 6 * k + 12] += 1e4 * D.T @ D
    return {"M": np.diag([1.0, 1.0, 1.0, 0.1, 0.1, 0.1] * 3), "K": K, "r": r}


def modes_files() -> list[bytes]:
    kinds = [{"count": 1}, {"count": 1, "kind": "free"}]
    made = [small_beam().modes(**given) for given in kinds]
    made = [m if m.inboard else m.referenced(to=m.nodes[0]) for m in made]
    files = []
    for m in made:
        m.save(folder() / "seed.npz")
        files.append((folder() / "seed.npz").read_bytes())
    return files


def structure_files() -> list[bytes]:
    def packed(**arrays):
        file = io.BytesIO()
        np.savez(file, **arrays)
        return file.getvalue()

    m = matrices()
    i, j = np.nonzero(m["M"])
    thin = {"M_row": i, "M_col": j, "M_data": m["M"][i, j]}
    names = np.array([f"p{k}" for k in range(len(m["r"]))])
    return [packed(**m), packed(**thin, K=m["K"], r=m["r"], names=names)]


def market_files() -> list[bytes]:
    import scipy.io
    import scipy.sparse

    files = []
    for matrix in (matrices()["M"], scipy.sparse.coo_array(matrices()["M"])):
        file = io.BytesIO()
        scipy.io.mmwrite(file, matrix, symmetry="symmetric")
        files.append(file.getvalue())
    return files


def structure_of_file(path: Path) -> None:
    given = matrices()
    source = {"source": path} if path.suffix == ".npz" else {"M": path, "K": given["K"], "r": given["r"]}
    wt.structure(**source).modes(count=1)


def npz_changed(data: bytes, chance: Random, others: list[bytes]) -> bytes:
    """Arrays of other types, shapes, orders and numbers in a file that is whole, or bytes of it."""
    if chance.random() < 0.4:
        return mutated_bytes(data, chance, others)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {m.filename: archive.read(m) for m in archive.infolist()}
    name = chance.choice(list(members))
    how = chance.randrange(5)
    if how == 0:
        del members[name]
    elif how == 1:
        members[chance.choice((name, "x.npy", "M.npy", "../x.npy"))] = members[chance.choice(list(members))]
    elif how == 2 and name != "about.npy":
        members[name] = _array_changed(members[name], chance)
    elif "about.npy" in members and how == 3:
        text = str(np.load(io.BytesIO(members["about.npy"])))
        file = io.BytesIO()
        np.save(file, np.array(mutated_text(text.encode(), chance, others[:1]).decode("utf-8", "replace")))
        members["about.npy"] = file.getvalue()
    else:
        members[name] = mutated_bytes(members[name], chance, others)
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w") as archive:
        warnings.simplefilter("ignore")
        for key, content in members.items():
            archive.writestr(key, content)
    return file.getvalue()


def _array_changed(data: bytes, chance: Random) -> bytes:
    array = np.load(io.BytesIO(data))
    how = chance.randrange(6)
    if how == 0 and array.dtype.kind != "U":
        array = array.astype(chance.choice(("f4", "i8", "u1", "c16", "U8", "?", "f2")))
    elif how == 1:
        array = array.reshape(-1)[: chance.randrange(array.size + 1)]
    elif how == 2:
        array = array[..., None] if chance.random() < 0.5 else array[None]
    elif array.size and array.dtype.kind == "f":
        array = array.copy()
        values = (np.nan, np.inf, -1.0, 0.0, 1e300, 1e-300, -1e300, 1e150)
        array.flat[chance.randrange(array.size)] = chance.choice(values)
        with np.errstate(over="ignore", invalid="ignore"):
            array = array * chance.choice((1.0, 1.0, -1.0, 0.0, 1e200, 1e-200))
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


# ---- Nastran


def grid_points(path: Path) -> None:
    from pyyeti.nastran import bulk

    with open(path, "w") as file:
        bulk.wtgrids(file, 1 + np.arange(len(matrices()["r"])), xyz=matrices()["r"])


def bulk_files() -> list[bytes]:
    import pandas as pd
    from pyyeti.nastran import bulk

    m, path = matrices(), folder() / "seed.bdf"
    grid_points(path)
    plain = path.read_bytes()
    rows = [(1 + k, c) for k in range(len(m["r"])) for c in range(1, 7)]
    index = pd.MultiIndex.from_tuples(rows, names=["id", "dof"])
    with open(path, "a") as file:
        bulk.wtdmig(file, {"KAAX": pd.DataFrame(m["K"], index, index), "MAAX": pd.DataFrame(m["M"], index, index)})
    whole = path.read_bytes()
    return [whole, b"CORD2R,7,0,0.,0.,0.,0.,1.,0.\n,0.,0.,1.\n" + whole.replace(plain, plain.upper())]


def op4_files() -> list[bytes]:
    from pyyeti.nastran import op4

    named, path, files = {"kgg": matrices()["K"], "mgg": matrices()["M"]}, folder() / "seed.op4", []
    for options in (
        {"binary": True},
        {"binary": False},
        {"sparse": "bigmat"},
        {"sparse": "nonbigmat", "binary": False},
    ):
        op4.save(str(path), named, **options)
        files.append(path.read_bytes())
    return files


def op2_files() -> list[bytes]:
    whole = b"".join(_op2_matrix(name, matrices()[letter]) for name, letter in (("KAA", "K"), ("MAA", "M")))
    return [whole + _key(0)]


def _record(data: bytes) -> bytes:
    return struct.pack("<i", len(data)) + data + struct.pack("<i", len(data))


def _key(n: int) -> bytes:
    return _record(struct.pack("<i", n))


def _op2_matrix(name: str, A: np.ndarray) -> bytes:
    label, n = _record(name.ljust(8).encode()), A.shape[1]
    out = _key(2) + label + _key(-1) + _key(7) + _record(struct.pack("<7i", 101, n, A.shape[0], 6, 2, 0, 0))
    out += _key(-2) + _key(1) + _key(0) + _key(2) + label + _key(-3) + _key(1) + _key(1)
    for c in range(n):
        out += _key(1 + 2 * A.shape[0]) + _record(struct.pack("<i", 1) + A[:, c].astype("<f8").tobytes())
        out += _key(-4 - c) + _key(1) + _key(int(c < n - 1))
    return out + _key(0)


@cache
def grid_of_matrices() -> tuple:
    """The grid points that all matrices belong to, read once: they are not what is wrong."""
    r = matrices()["r"]
    return 1 + np.arange(len(r)), r, [np.eye(6)] * len(r)


def nastran_matrices(path: Path) -> None:
    """The grid points are always the same: they are read once."""
    with mock.patch.object(nastran, "points_of", return_value=grid_of_matrices()):
        wt.nastran(path, path).modes(count=1)


# ---- results


@cache
def pendulum() -> wt.System:
    return wt.load(ROOT / "models" / "pendulum.toml").compile()


class Unwritten(Checkpoint):
    """Goes on from a file, and leaves it as it is: what is written then is not what is tried here."""

    def finish(self, result) -> None:
        pass


def resume(path: Path) -> None:
    with mock.patch("whippletree.integrate.march.Checkpoint", Unwritten):
        resumed(path, resume=True)


def resumed(path: Path, **options) -> wt.Result:
    return wt.simulate(pendulum(), 0.02, u={"hinge": 1.0}, output_step=0.01, output=path, save_every=1e-9, **options)


def result_files() -> list[bytes]:
    """One of a whole run, and one that was stopped, with a state to go on from."""
    path = folder() / "seed.nc"
    path.unlink(missing_ok=True)
    resumed(path)
    whole = path.read_bytes()

    def stop(t: float) -> None:
        if t > 0.0:
            raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):
        resumed(path, progress=stop)
    return [whole, path.read_bytes()]


@cache
def compiled_once(text: str, source: str) -> wt.Model:
    model = read_toml(text, source)
    model.compile = cache(model.compile)  # type: ignore[method-assign]
    return model


def read_result(path: Path) -> None:
    """The model in a file has a checksum, so it is always the same one: it is compiled once."""
    with mock.patch("whippletree.result.netcdf.toml.loads", compiled_once):
        wt.load_result(path)


def sweep_files() -> list[bytes]:
    path = folder() / "seed.nc"
    path.unlink(missing_ok=True)
    wt.sweep(pendulum(), {"q.hinge": [0.1, 0.2]}, 0.01, output=path, workers=0)
    return [path.read_bytes()]


def read_sweep(path: Path) -> None:
    repr(Sweep.load(path))


def netcdf_changed(data: bytes, chance: Random, others: list[bytes]) -> bytes:
    """Attributes and arrays of other kinds in a file that is whole, or bytes of it."""
    if chance.random() < 0.6:
        return mutated_bytes(data, chance, others)
    import h5py

    file = io.BytesIO(data)
    try:
        with np.errstate(all="ignore"), h5py.File(file, "r+") as opened:
            _h5_changed(opened, chance)
    except (ValueError, TypeError, OSError, RuntimeError, LookupError):  # a change that HDF5 itself does not make
        return mutated_bytes(data, chance, others)
    return file.getvalue()


def _h5_changed(opened, chance: Random) -> None:
    if chance.random() < 0.5:
        key = chance.choice(list(opened.attrs))
        values = (None, 0, -1, 2**40, np.nan, "", "nonsense", np.zeros(3), np.bytes_(b"\xff\xfe"), True, "[1, 2]", "{}")
        value = chance.choice(values)
        if isinstance(opened.attrs[key], str) and chance.random() < 0.5:
            value = (
                mutated_text(opened.attrs[key].encode(), chance, [b"x = 1"])
                .decode("utf-8", "replace")
                .replace("\0", "")
            )
        del opened.attrs[key]
        if value is not None:
            opened.attrs[key] = value
        return
    import h5py

    name = chance.choice([n for n in opened if isinstance(opened[n], h5py.Dataset)])
    stored = opened[name][()] if opened[name].nbytes < 1e6 else np.zeros(1)
    how = chance.randrange(5)
    if how == 0:
        del opened[name]
    elif how == 1 and np.ndim(stored) and stored.dtype.kind == "f":
        stored = np.array(stored, float)
        stored.flat[chance.randrange(stored.size)] = chance.choice((np.nan, np.inf, 1e300, -1.0, 0.0, 1e9, 2.5))
        opened[name][...] = stored
    else:
        del opened[name]
        shapes = (
            np.zeros(0),
            np.zeros((2, 2, 2)),
            np.float64(1),
            np.zeros(3, "i4"),
            "text",
            stored[:1] if np.ndim(stored) else 1,
        )
        if how == 2:
            opened[name] = chance.choice(shapes)
        elif how == 3:
            opened[name] = (
                h5py.SoftLink("/" + name) if chance.random() < 0.5 else h5py.ExternalLink("/etc/passwd", "/a")
            )
        else:
            opened.create_dataset(name, (2 ** chance.randrange(3, 40),), "f8", chunks=(1024,), fillvalue=0.0)


# ---- sweeps


def journal_files() -> list[bytes]:
    path = folder() / "seed.runs"
    kept = journal.begin(path, {"model": "m", "runs": 3})
    kept.add(0, Outcome(DONE, np.array([1.0, 2.0])))
    kept.add(2, Outcome(FAILED, message="it fell"))
    kept.add(1, Outcome(DONE, np.array([3.0, 4.0])))
    kept.close()
    return [path.read_bytes()]


def journal_changed(data: bytes, chance: Random, others: list[bytes]) -> bytes:
    """Records with right checksums and wrong content, or bytes."""
    if chance.random() < 0.5:
        return mutated_bytes(data, chance, others)
    records = [(run, state, body) for run, state, body, _ in journal._records(data)]
    k = chance.randrange(len(records))
    run, state, body = records[k]
    run = chance.choice((run, run, -1, -2, 2**62, 7))
    state = chance.choice((state, state, 0, 1, 2, 3, 255))
    records[k] = run, state, mutated_text(body, chance, [b"{}"])
    chance.shuffle(records)
    whole = b""
    for run, state, body in records:
        check = zlib.crc32(body, zlib.crc32(struct.pack("<qB", run, state)))
        whole += journal.HEAD.pack(journal.MARK, run, state, len(body), check) + body
    return whole


def read_journal(path: Path) -> None:
    kept = journal.read(path, 2)
    assert kept.identity is None or isinstance(kept.identity, dict)
    assert all(isinstance(outcome, Outcome) for outcome in kept.runs.values())


def read_plan(data: bytes) -> None:
    """``--set`` of a sweep with its ``--design``, and ``--stop`` of a run: texts of the command line."""
    design, _, text = data.decode("utf-8", "replace").partition(" ")
    if design == "stop":
        wt.Event.parse(text)
        return
    name, _, values = text.partition("=")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make_plan({name: values}, design, 4 if design in RANDOM else None, 0)


PLANS = """grid bodies.rod.mass=0.5:2:4
grid q.hinge=0.1,0.2
together integrator=rk4,dopri5
grid rtol=1e-9:1e-3:3:log
latin q.hinge=0:3
sobol q.hinge=0.1:3:log
random q.hinge=0:3
stop hinge.q < 0.5
stop tip.position > -1e-3"""


# ---- messages to a live run


@cache
def catalogue() -> Catalogue:
    return Catalogue(wt.load(ROOT / "models" / "docking.toml").compile())


def message_texts() -> list[bytes]:
    """One of every kind, with names of the model."""
    known = catalogue()
    joint, body, made = next(iter(known.joints)), known.bodies[0], known.temporaries[0]
    texts = [{"do": do} for do in FIELDS if not any(key in ("name", "joint", "body") for key in FIELDS[do])]
    texts = [t for t in texts if t["do"] not in ("time_scale", "stream", "hello")]
    texts += [{"do": "time_scale", "value": 2.0}, {"do": "stream", "rate": 30}, {"do": "step", "steps": 3, "id": 7}]
    texts += [
        {"do": "hello", "token": "abc", "name": "me", "stream": 10.0},
        {"do": "activate", "name": made, "id": "x"},
    ]
    texts += [{"do": "force", "joint": joint, "values": [0.5] * known.joints[joint]}]
    texts += [{"do": "pull", "body": body, "to": [1.0, 0, 0], "at": [0, 0, 0], "stiffness": 10.0, "damping": 1.0}]
    texts += [{"do": "wrench", "body": body, "force": [1, 2, 3], "torque": [0, 0, 1], "at": [0, 0, 0]}]
    return [json.dumps(t).encode() for t in texts]


def read_message(data: bytes) -> None:
    message = None
    try:
        message = decode(data)
        parse(message, catalogue())
    except wt.ModelError as error:
        json.dumps(refusal(error, (message or {}).get("do"), identity(message)), allow_nan=False)  # what is sent back
        raise


# ---- meshes


def mesh_files() -> list[bytes]:
    import trimesh

    box = trimesh.creation.box()
    forms = [box.export(file_type=form) for form in ("stl", "obj", "ply", "glb")]
    return [x.encode() if isinstance(x, str) else x for x in forms] + [box.export(file_type="stl_ascii").encode()]


def read_mesh(data: bytes) -> None:
    head = data[:5]
    suffix = (
        ".ply" if head[:3] == b"ply" else ".glb" if head[:4] == b"glTF" else ".obj" if head[:1] in b"#vom" else ".stl"
    )
    in_file(f"mesh{suffix}", lambda path: wt.mesh(path, density=1.0))(data)


def mesh_changed(data: bytes, chance: Random, others: list[bytes]) -> bytes:
    text = b"facet" in data[:200] or b"\nv " in data[:200]
    return (mutated_text if text else mutated_bytes)(data, chance, others)


def both_ways(data: bytes, chance: Random, others: list[bytes]) -> bytes:
    return (mutated_text if data[:200].isascii() and b"\0" not in data[:200] else mutated_bytes)(data, chance, others)


READERS: dict[str, Reader] = {
    "toml": Reader(in_file("a.toml", compiled), small_models),
    "urdf": Reader(in_file("a.urdf", compiled), lambda: [URDF]),
    "mjcf": Reader(in_file("a.xml", compiled), lambda: MJCF),
    "modes": Reader(in_file("a.npz", wt.Modes.load), modes_files, npz_changed),
    "structure": Reader(in_file("b.npz", structure_of_file), structure_files, npz_changed),
    "market": Reader(in_file("a.mtx", structure_of_file), market_files),
    "bulk": Reader(in_file("a.bdf", lambda path: wt.nastran(path).modes(count=1)), bulk_files),
    "op4": Reader(in_file("a.op4", nastran_matrices), op4_files, both_ways),
    "op2": Reader(in_file("a.op2", nastran_matrices), op2_files, mutated_bytes),
    "result": Reader(in_file("a.nc", read_result), result_files, netcdf_changed),
    "resume": Reader(in_file("b.nc", resume), result_files, netcdf_changed),
    "sweep": Reader(in_file("c.nc", read_sweep), sweep_files, netcdf_changed),
    "journal": Reader(in_file("a.nc.runs", read_journal), journal_files, journal_changed),
    "plan": Reader(read_plan, lambda: PLANS.encode().splitlines()),
    "messages": Reader(read_message, message_texts),
    "mesh": Reader(read_mesh, mesh_files, mesh_changed),
}
