"""Puts the compiled kernels of the folder WHIPPLETREE_KERNELS into the wheel; without it the wheel is pure Python."""

import json
import os
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Kernels(BuildHookInterface):
    def initialize(self, version, build_data):
        named = os.environ.get("WHIPPLETREE_KERNELS")
        if not named or version == "editable":
            return
        folder = Path(self.root, named)
        tools = json.loads((folder / "built.json").read_text("utf-8"))["tools"]
        build_data["pure_python"] = False
        build_data["tag"] = f"cp{tools['python'].replace('.', '')}-none-manylinux_2_17_x86_64"  # they link to nothing
        build_data["dependencies"] = [f"numba=={tools['numba']}"]
        build_data["force_include"][str(folder)] = "whippletree/compiled"
