"""Waiting for what takes its time on a busy machine."""

import time


def eventually(true, within=60.0):
    """Whether something becomes true."""
    until = time.monotonic() + within
    while time.monotonic() < until:
        if true():
            return True
        time.sleep(0.05)
    return False
