"""What tests of several files ask for, and what they must not leave behind for each other."""

from types import SimpleNamespace

import numpy as np
import pytest

import rooms  # noqa: F401, from tests/support
from whippletree.cli import app as cli

FIRST = ("test_fuzz",)  # the longest
LAST = ("test_allocation", "test_animation")  # they need what their neighbours compile, and would wait for it


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: (item.path.stem in LAST) - (item.path.stem in FIRST))


@pytest.fixture(autouse=True)
def printing():
    """NumPy's way to print, which pyyeti changes when it is imported."""
    with np.printoptions():
        yield


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """Run the program in an empty folder: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    # the first test of a kind compiles: what a command writes does not depend on the order of tests
    silent = SimpleNamespace(begin=lambda kernel: None, end=lambda: None)
    monkeypatch.setattr("whippletree.compiler.cache_integrity.notice", silent)

    def call(*arguments):
        monkeypatch.setattr("sys.argv", ["whippletree", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            cli.main()
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return stop.value.code or 0, out, err

    return call
