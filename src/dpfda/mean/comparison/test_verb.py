"""`dpfda test`: publish a test that several groups have one mean function."""

from dpfda.command.publishing import Publication
from dpfda.command.reading import ComparedCurves

VERB = Publication(
    name="test",
    words="Publish the statistic of a test that groups have one mean curve, with p-values. Every person "
    "must be in one group.",
    estimators=(
        "dpfda.mean.comparison.equality_test:PrivateEqualityTest",
        "dpfda.mean.comparison.estimator:PrivateComparison",
    ),
    reader=ComparedCurves(),
    bounded=True,
    plans=("dpfda plan test --units 200 --epsilon 1 --bounds 0 1 --error 2%",),
    examples=(
        "dpfda test scans.csv --by case --groups ID --epsilon 1 --bounds 0.2 0.9 "
        "--columns 'cca_*' --missing complete --out test.json",
    ),
)
