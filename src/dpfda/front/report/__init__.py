"""What a release promises, in words that a data officer can file."""

from dpfda.front.report.accuracy import Accuracy, accuracy_of, band_at
from dpfda.front.report.cautions import cautions
from dpfda.front.report.certified import describe_certified
from dpfda.front.report.lines import is_line, misfit, verdict
from dpfda.front.report.numbers import number
from dpfda.front.report.words import cited, describe, public_size

__all__ = [
    "Accuracy",
    "accuracy_of",
    "band_at",
    "cautions",
    "cited",
    "describe",
    "describe_certified",
    "is_line",
    "misfit",
    "number",
    "public_size",
    "verdict",
]
