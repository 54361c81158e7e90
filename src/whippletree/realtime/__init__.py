"""Motion in real time: a loop that keeps pace with the clock, and those who steer it."""
