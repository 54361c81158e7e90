"""``python -m whippletree`` is the command ``whippletree``."""

from .cli.app import main

main()
