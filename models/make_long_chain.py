"""Writes long_chain.toml: ``python models/make_long_chain.py``."""

from pathlib import Path

LINKS, LENGTH = 256, 0.05  # m

HEAD = f"""\
# A chain of {LINKS} links, {LINKS * LENGTH:g} m long, held at one end. Hinges lie aslant, to one side and the other
# in turn, as the links of a chain do, and each has a little damping. At q = 0 it is stretched out level along x: let
# go, it falls and swings.
#
# Long enough to be worth several processors:
#
#   mpiexec -n 4 whippletree run models/long_chain.toml --until 1 --algorithm subchains --on mpi -o chain.nc
#
# Written by make_long_chain.py.

name = "long chain"
gravity = [0, 0, -9.81]
"""


def text() -> str:
    bodies = [
        f'link{i} = {{ shape = "rod", mass = 0.1, length = {LENGTH}, radius = 0.008, axis = "x" }}'
        for i in range(1, LINKS + 1)
    ]
    joints = []
    for i in range(1, LINKS + 1):
        parent, at = ("ground", "") if i == 1 else (f"link{i - 1}", f", at = [{LENGTH}, 0, 0]")
        ends = f'parent = "{parent}", child = "link{i}"{at}'
        joints.append(f'hinge{i} = {{ kind = "revolute", {ends}, axis = [0, 1, {1 - 2 * (i % 2)}], damping = 1e-3 }}')
    return "\n".join([HEAD, "[bodies]", *bodies, "", "[joints]", *joints, ""])


if __name__ == "__main__":
    Path(__file__).with_name("long_chain.toml").write_text(text(), encoding="utf-8")
