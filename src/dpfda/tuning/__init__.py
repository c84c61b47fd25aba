"""Choosing tuning: by rules from public numbers, on public data, or privately at a price.

Tuning that is read from private data is a release of its own. `plug_in` reads none; `cross_validate` is
for data that the user declares public; `private_selection` pays for the choice.
"""

from dpfda.tuning.public import CrossValidation, PlugIn, cross_validate, matern_decay, plug_in
from dpfda.tuning.selection import Selection, Stopping, private_selection

__all__ = [
    "CrossValidation", "PlugIn", "Selection", "Stopping", "cross_validate", "matern_decay", "plug_in",
    "private_selection",
]  # fmt: skip
