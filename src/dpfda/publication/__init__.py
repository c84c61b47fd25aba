"""The crossings from private to public: charge the ledger, draw the noise, add it to the sum."""

from dpfda.mechanisms import COUNT_SCALE
from dpfda.publication.accounts import already_charged
from dpfda.publication.averages import check, pay, publish, publish_integers, publish_parallel
from dpfda.publication.charging import certified, certified_entry, charge, recomputed, stamp
from dpfda.publication.requests import COUNT_SHARE, Request

__all__ = [
    "COUNT_SCALE",
    "COUNT_SHARE",
    "Request",
    "already_charged",
    "certified",
    "certified_entry",
    "charge",
    "check",
    "pay",
    "publish",
    "publish_integers",
    "publish_parallel",
    "recomputed",
    "stamp",
]
