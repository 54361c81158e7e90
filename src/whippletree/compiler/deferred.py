"""Kernels that only other kernels call are not made into machine code: those that Python calls are, with them in it.

Numba links, optimizes and emits every function together with all that it calls: what stands at the bottom of a tree of
calls is emitted once for each function above it, and short functions are optimized before they vanish in their callers.
Here an inner kernel is optimized once, with the functions that are placed into it, and never emitted.
"""

from __future__ import annotations

from typing import Any

from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, _LowerResult
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


class InnerLibrary(JITCodeLibrary):
    """The code of an inner kernel and of what it calls, for those who link it."""

    placed = False  # into its callers, always

    def finalize(self) -> None:
        """Nothing is linked, optimized or emitted yet."""
        self._raise_if_finalized()
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """The kernel with all that it calls, optimized unless it is placed into its callers anyway."""
        if self._shared_module is None:
            for module in self._below():
                self._final_module.link_in(module, preserve=True)
            if not self.placed:
                self._optimize_final_module()
                self._final_module.verify()
            for function in self._final_module.functions:
                if not function.is_declaration and function.linkage.name == "external":
                    function.linkage = "linkonce_odr"
            self._shared_module = self._final_module
        return self._shared_module

    def _below(self) -> list[Any]:
        return [library._get_module_for_linking() for library in dict.fromkeys(self._linking_libraries)]


@register_pass(mutates_CFG=True, analysis_only=False)
class InnerLowering(NativeLowering):
    """Numba's lowering into an :class:`InnerLibrary`, without an address."""

    _name = "inner_lowering"

    def run_pass(self, state: Any) -> bool:
        library = state.library = InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        library.placed = bool(state.flags.forceinline)
        state.flags.no_compile = True
        super().run_pass(state)
        library._ensure_finalized()
        lowered = state["cr"]
        name = lowered.fndesc.qualname.split(".")[-1]
        handle = _dynfunc.make_function(lowered.fndesc.lookup_module(), name, name, 0, lowered.env, (library,))
        state.targetctx.insert_user_function(handle, lowered.fndesc, [library])
        state.reload_init.extend(library._reload_init)
        state["cr"] = _LowerResult(lowered.fndesc, lowered.call_helper, cfunc=handle, env=lowered.env)
        return True


class InnerCompiler(Compiler):
    """Numba's pipeline for kernels that Python does not call."""

    def define_pipelines(self) -> Any:
        (manager,) = super().define_pipelines()
        manager.passes = [(InnerLowering if found is NativeLowering else found, why) for found, why in manager.passes]
        manager.finalize()
        return [manager]
