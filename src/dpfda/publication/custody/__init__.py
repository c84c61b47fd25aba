"""Sums of custodians who may not pool records: keys, the signed agreement, masked parts, their total.

Nothing here draws noise. What is secret (keys, parts, the total) neither prints nor pickles.
"""

from dpfda.publication.custody.agreements import Agreement
from dpfda.publication.custody.keys import Card, Keys
from dpfda.publication.custody.parts import Part, called, joined, masked
from dpfda.publication.custody.vanishing import Answer, Kept, Roll

__all__ = ["Agreement", "Answer", "Card", "Kept", "Keys", "Part", "Roll", "called", "joined", "masked"]
