"""The long forms of ``make soak``, in short."""

import soak_day


def test_a_loop_for_some_minutes_keeps_energy_closure_and_memory():
    """Drift of dopri5 grows with time, so a share of a day must keep to that share."""
    chunks = list(soak_day.hours(240.0, chunk=60.0, rtol=1e-9, atol=1e-11))
    assert chunks[-1].t == 240.0
    assert chunks[-1].drift < soak_day.DRIFT * 240.0 / 86400.0
    assert chunks[-1].gap < soak_day.GAP
    assert chunks[-1].memory < chunks[0].memory * (1.0 + soak_day.GROWTH)
