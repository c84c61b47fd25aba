"""Five solvers from examples to a private linear function of features, each with its proof.

Features z have length at most one, targets y lie in [-1, 1] (both enforced on integers), n is the
public number of privacy units, and a unit's loss is the average of the losses of its rows. Data sets
are neighbours if one unit is replaced by another. The machine without noise is the minimiser b* of

    F(b) = (1/n) sum_i L(y_i, z_i . b) + penalty |b|^2.

The printed sources are Lin & Reimherr (2023), Theorem 16, and Hall, Rinaldo & Wasserman (2013),
section 4.3, for the first solver. Scales are rounded up; K-norm noise is pure, Gaussian noise is not.
"""

from dpfda.machines.solvers.gradient import GradientSolver
from dpfda.machines.solvers.minimising import MinimisingSolver, ObjectiveSolver, OutputSolver
from dpfda.machines.solvers.solver import (
    Budget,
    Labelled,
    Solver,
    SummingSolver,
    Terms,
    check_penalty,
    sensitivity,
)
from dpfda.machines.solvers.sums import MeansSolver, SumsSolver

SOLVERS: dict[str, type[Solver]] = {
    kind.name: kind for kind in (OutputSolver, ObjectiveSolver, SumsSolver, MeansSolver, GradientSolver)
}

__all__ = [
    "SOLVERS",
    "Budget",
    "GradientSolver",
    "Labelled",
    "MeansSolver",
    "MinimisingSolver",
    "ObjectiveSolver",
    "OutputSolver",
    "Terms",
    "Solver",
    "SummingSolver",
    "SumsSolver",
    "check_penalty",
    "sensitivity",
]
