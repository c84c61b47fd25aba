"""The crossings from private to public: charge the ledger, draw the noise, add it to the sum."""

from dpfda.publication.averages import (
    COUNT_SCALE,
    COUNT_SHARE,
    Request,
    charge,
    check,
    pay,
    publish,
    publish_integers,
    publish_parallel,
    stamp,
)

__all__ = [
    "COUNT_SCALE",
    "COUNT_SHARE",
    "Request",
    "charge",
    "check",
    "pay",
    "publish",
    "publish_integers",
    "publish_parallel",
    "stamp",
]
