"""Two-handle equations of subchains, shared by ``divide`` and ``subchains``."""
