"""Several commands one after the other on the same ranks: starting them takes longer than what most commands do.

python tests/support/mpi_commands.py COMMANDS, a list in JSON: for each command the arguments of every rank. Rank 0
prints as JSON, for each command, the exit codes of all ranks and what they wrote to stderr.
"""

import io
import json
import sys
from contextlib import redirect_stderr

from mpi4py import MPI

from whippletree.cli import app as cli


def main(commands):
    reported = []
    for arguments in commands:
        sys.argv = ["whippletree", *arguments[MPI.COMM_WORLD.rank]]
        with redirect_stderr(io.StringIO()) as written:
            try:
                cli.main()
                code = 0
            except SystemExit as stop:
                code = stop.code or 0
        reported.append(MPI.COMM_WORLD.gather((code, written.getvalue())))
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps([list(zip(*ranks, strict=True)) for ranks in reported]))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
