"""Functions of time at one time."""

import math

from ..compiler.lanes import inline, put


@inline
def evaluate_signals(F, t, out):
    """out (1 + 3 ns): the time, then value, rate and second derivative of each function"""
    put(out, 0, t)
    for s in range(F.ns):
        low, high = F.first[s], F.first[s + 1]
        while high - low > 1:
            middle = (low + high) // 2
            if F.time[middle] <= t:
                low = middle
            else:
                high = middle
        x = t - F.time[low]
        value, rate, bend = 0.0, 0.0, 0.0
        for n in range(5, -1, -1):
            bend = bend * x + 2.0 * rate
            rate = rate * x + value
            value = value * x + F.piece[6 * low + n]
        amplitude, w = F.wave[3 * s], F.wave[3 * s + 1]
        if amplitude != 0.0:
            angle = w * t + F.wave[3 * s + 2]
            value += amplitude * math.sin(angle)
            rate += amplitude * w * math.cos(angle)
            bend -= amplitude * w * w * math.sin(angle)
        put(out, 1 + 3 * s, value)
        put(out, 2 + 3 * s, rate)
        put(out, 3 + 3 * s, bend)
