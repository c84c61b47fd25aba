"""What releases from one data set guarantee together, and conversions between guarantees.

Every number is rounded to the private side, so that a statement made here is true and not only
nearly true. Nothing in this room knows data or draws noise.
"""

from dpfda.privacy.composition.account import USUAL_DELTA, Account, account, compose
from dpfda.privacy.composition.block_profile import block_length
from dpfda.privacy.composition.conversions import (
    for_group,
    for_replace_one,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_rho,
    laplace_rho,
    pure_rho,
    zcdp_delta,
    zcdp_epsilon,
)
from dpfda.privacy.composition.costs import Charge, Cost, Released, filter_charge, gaussian_limit
from dpfda.privacy.composition.losses import (
    ApproximateLoss,
    BlockLoss,
    BlocksLoss,
    ConcentratedLoss,
    GaussianLoss,
    LaplaceLoss,
    Loss,
    PureLoss,
    RangeLoss,
    estimated_profile,
    loss_from_json,
    loss_of,
)
from dpfda.privacy.composition.risk import AttackRisk, attack_risk

__all__ = [
    "Account", "ApproximateLoss", "AttackRisk", "BlockLoss", "BlocksLoss", "Charge", "ConcentratedLoss",
    "Cost", "GaussianLoss", "LaplaceLoss", "Loss", "PureLoss", "RangeLoss", "Released", "USUAL_DELTA",
    "account", "attack_risk",
    "block_length", "compose", "estimated_profile", "filter_charge", "for_group", "for_replace_one",
    "gaussian_delta", "gaussian_epsilon", "gaussian_limit", "gaussian_rho", "laplace_rho",
    "loss_from_json", "loss_of", "pure_rho", "zcdp_delta", "zcdp_epsilon",
]  # fmt: skip
