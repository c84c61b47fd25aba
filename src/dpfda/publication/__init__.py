"""The crossings from private to public: charge the ledger, draw the noise, add it to the sum."""

from dpfda.privacy.certificates import said_by
from dpfda.publication.averages import EXACT, check, pay, publish, publish_curve
from dpfda.publication.charging import certified_entry, charge, recomputed, stamp
from dpfda.publication.distances import Draw
from dpfda.publication.integers import publish_integers
from dpfda.publication.mean_designs import COUNT_SHARE
from dpfda.publication.means import MeanPlan, PlanOfMeans
from dpfda.publication.parallel import publish_parallel
from dpfda.publication.plan import Plan, Prepared
from dpfda.publication.planners import PlanAgain, Trial, TriedPlan, planner

__all__ = [
    "COUNT_SHARE", "Draw", "EXACT", "MeanPlan", "Plan", "PlanAgain", "PlanOfMeans", "Prepared",
    "Trial", "TriedPlan", "certified_entry", "charge", "check", "pay", "planner", "publish",
    "publish_integers", "publish_curve", "publish_parallel", "recomputed", "said_by", "stamp",
]  # fmt: skip
