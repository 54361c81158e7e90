"""``python -m whippletree`` is the command ``whippletree``."""

from .cli import main

main()
