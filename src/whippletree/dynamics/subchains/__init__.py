"""Floating subchains, coupled by the forces at the joints that were cut."""
