"""What a release promises, in words that a data officer can file."""

from dpfda.report.accuracy import Accuracy, accuracy_of, band_at
from dpfda.report.cautions import cautions
from dpfda.report.certified import describe_certified
from dpfda.report.lines import is_line, misfit, verdict
from dpfda.report.numbers import number
from dpfda.report.words import cited, describe, public_size

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
