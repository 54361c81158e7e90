"""The choice of an algorithm: operation counts, their time on this host, and the fastest."""
