"""`dpfda fpca`: publish the principal components of a file of curves."""

from dpfda.command import options as o
from dpfda.command.declared import Option
from dpfda.command.publishing import Publication
from dpfda.command.reading import Curves
from dpfda.covariance.verb import CENTER, covariance_settings

MECHANISMS = "auto|coupled|wishart|knorm|gaussian|exponential"
VERB = Publication(
    name="fpca",
    words="Publish the principal components of a file of private curves under differential privacy.",
    estimators=("dpfda.covariance.fpca:PrivateFPCA", "dpfda.covariance.estimator:PrivateCovariance"),
    reader=Curves(),
    options=(
        o.BOUNDS[0],
        CENTER,
        Option("n_components", "--n-components", "K", panel=o.CURVE, type=int),
        Option("mechanism", "--mechanism", MECHANISMS, panel=o.PRIVACY),
    ),
    settings=covariance_settings,
    plans=("dpfda plan fpca --units 500 --epsilon 1 --bounds 0 1 --n-components 2",),
    examples=(
        "dpfda fpca demand.csv --epsilon 1 --center mean.json --radius 450 --out pca.json "
        "--plot pca.png",
        "dpfda fpca scans.csv --epsilon 1 --center private --bounds 0.2 0.9 --radius 0.12 "
        "--columns 'cca_*' --groups ID --missing complete --n-components 2 --out pca.json",
    ),
)
