"""Numbers that algorithms and certificates share: how much loss is believed, and what is small enough for LAPACK."""

LIMIT = 1e5  # roundings of a pivot's terms: 1e-11 of it
BEGUN = 2.0 * LIMIT  # a loss that is looked at once
DENSE = 400  # degrees of freedom and constraint equations that are solved densely
