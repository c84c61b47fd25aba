"""What all estimators share: parameters gathered in objects, the budget, the ledger, tags and names."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import fields, replace
from difflib import get_close_matches
from inspect import Signature, signature
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from numpy.typing import ArrayLike

from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError, UnreadLabelsWarning
from dpfda.numerics.parameters import shown
from dpfda.privacy.caveats import count_copy
from dpfda.privacy.guarantees import Guarantee, asked
from dpfda.privacy.ledger.named import Paying, read_ledger
from dpfda.records.frames import Container
from dpfda.spine.base import base
from dpfda.spine.embedding import embedded
from dpfda.spine.settings import Domain, Gathered, PrivacyUnit, Reading, Settings

# What else a parameter is called in this field.
SYNONYMS = {"kernel": "basis"}


if TYPE_CHECKING:
    from sklearn.base import BaseEstimator as _Base
    from sklearn.utils import Tags

    from dpfda.spine.arguments import Number
else:
    _Base = base()


def warn_of_labels(y: object, groups: object = None) -> None:
    """Warn of labels that are passed as y where there are no groups: they protect nobody.

    ``fit(X, person)`` reads as if each person counted as one, and each record would be protected alone.
    """
    if y is not None and groups is None:
        warnings.warn(
            "y is not read. Where it says whose each record is, pass it as groups: without groups each "
            "record is protected by itself, and a person of several records less.",
            UnreadLabelsWarning,
            stacklevel=3,
        )


class Estimator(_Base):  # type: ignore[misc]
    """Base of the estimators; not for use by itself.

    A summary has the parameters epsilon, delta and ledger, and those of `_gathered` that it needs.
    Fields of the latter may be given by their own names, ``grid_points=t`` for ``domain=Domain(t)``,
    where the object itself is not given; so may a kernel instead of a basis. `get_params` knows
    the objects.
    """

    # Parameters that are objects, by the classes they may be of; the first one reads shorthands.
    _gathered: ClassVar[Mapping[str, tuple[type[Gathered], ...]]] = {
        "domain": (Domain,), "unit": (PrivacyUnit,), "reading": (Reading,)
    }  # fmt: skip

    # Whether `fit` needs y.
    _takes_labels: ClassVar[bool] = False
    # Whether all of its roads go through `embed`.
    _embeds: ClassVar[bool] = False
    # Whether it takes a step between values.
    _stepped: ClassVar[bool] = False
    # Whether it counts values that many units share apart.
    _atomic: ClassVar[bool] = False

    epsilon: Number
    delta: Number
    # Instead of epsilon, where an estimator has it.
    rho: Number = None
    ledger: object

    @property
    def settings(self) -> Settings:
        """Domain, unit and reading as objects; what is missing has its defaults.

        Raises
        ------
        ParameterError
            If one is unusable.
        """
        return Settings(
            Domain.of(getattr(self, "domain", None)),
            PrivacyUnit.of(getattr(self, "unit", None)),
            embedded(Reading.of(getattr(self, "reading", None)), self, Estimator),
        )

    def embed(self, values: Floats) -> ArrayLike:
        """What is summed of each record, before its bound is enforced; here the record itself.

        A derived class overrides it, for every road to the sum: in memory, in blocks, on a cluster, by
        custodians, in sessions.

        Parameters
        ----------
        values : array (k, m)
            Records that have been read, one a row, as many at a time as the road likes. Private.

        Returns
        -------
        array (k, q)
            Row i from row i alone. A row that is not finite makes the record unusable.
        """
        return values

    def embedded_points(self, grid_points: Floats) -> ArrayLike:
        """The public points (q,) of what `embed` returns, from those of the records (m,)."""
        return grid_points

    def _settings_for(self, X: object, groups: object = None) -> Settings:
        """The settings, with what X calls its variables and values where no other words are stated."""
        settings = self.settings
        words = Container.of(X, groups).about | dict(settings.domain.labels or {})
        return replace(settings, domain=settings.domain.but(labels=words)) if words else settings

    def asked(self) -> Guarantee:
        """The guarantee that is asked for, by epsilon and delta or by rho.

        Raises
        ------
        ParameterError
            If it cannot be read.
        """
        return asked(self.epsilon, self.delta, self.rho)

    def __init_subclass__(cls, **settings: object) -> None:
        super().__init_subclass__(**settings)
        # Fields by their own names are shorthands and no parameters.
        _, *parameters = signature(cls.__init__).parameters.values()
        own = [parameter for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
        cls.__signature__ = Signature(own)

    def _keep(self, arguments: Mapping[str, object]) -> None:
        """Everything that `__init__` was given, as it is: parameters, and fields of objects by name."""
        fields = cast("Mapping[str, object]", arguments["fields"])
        for name, value in arguments.items():
            if name not in ("self", "fields", "__class__"):
                setattr(self, name, value)
        if "rho" in fields and "rho" not in self._get_param_names():
            words = f"be left out of {type(self).__name__}, whose guarantee is by epsilon and delta"
            raise ParameterError("rho", words, shown(fields["rho"]), "Give an epsilon.")
        for name, synonym in SYNONYMS.items():
            if name in fields and getattr(self, synonym, None) is not None:
                raise ParameterError(name, f"be given as {synonym} alone", "both")
        if fields:
            self.set_params(**self._addressed(fields))

    @classmethod
    def _addressed(cls, words: Mapping[str, object]) -> dict[str, object]:
        """Parameters, and fields of objects, by the names under which `set_params` takes them.

        Raises
        ------
        ParameterError
            If a word is neither a parameter nor a field.
        """
        own = cls._get_param_names()
        places = {
            field.name: f"{name}__{field.name}"
            for name, kinds in cls._gathered.items()
            for kind in kinds
            for field in fields(kind)
            if name in own
        }
        for name, synonym in SYNONYMS.items():
            if synonym in own:
                places[name] = synonym
        for name in words:
            if name not in own and name not in places:
                raise ParameterError(
                    f"A parameter of {cls.__name__}",
                    f"be one of {', '.join(own)}, or a field of those that are objects",
                    repr(name),
                    _meant(name, [*own, *places]),
                )
        return {name if name in own else places[name]: value for name, value in words.items()}

    def __getattr__(self, name: str) -> Any:
        # Asked for what is not there alone: learned things, whose names end in one underscore.
        learned = name.endswith("_") and not name.startswith("_") and not name.endswith("__")
        if learned:
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(f"{type(self).__name__} is not fitted yet: call fit before {name}.")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def set_params(self, **params: object) -> Self:
        """Set parameters, also fields of those that are objects: ``reading__missing="complete"``."""
        own: dict[str, object] = {}
        inner: defaultdict[str, dict[str, object]] = defaultdict(dict)
        for key, value in params.items():
            name, _, field = key.partition("__")
            if field and name in self._gathered:
                inner[name][field] = value
            else:
                own[key] = value
        super().set_params(**own)
        for name, changed in inner.items():
            gathered = self._gathered[name][0].of(getattr(self, name))
            if not isinstance(gathered, Gathered):
                raise ParameterError(name, f"be an object with {', '.join(changed)}", shown(gathered))
            setattr(self, name, gathered.but(**changed))
        return self

    def __sklearn_clone__(self) -> Self:
        """A copy that is not fitted; those that a search makes are counted."""
        copied: Self = super().__sklearn_clone__()
        count_copy(self, copied)
        return copied

    def _check_road(self, road: str) -> None:
        """Refuse a road to the sum that does not go through a `fit` of a class derived from a summary.

        Whatever such a `fit` makes of records would not be heard there: they would be published as they
        are. A class that has its own method for the road, too, is let through.

        Parameters
        ----------
        road : str
            Name of the method.

        Raises
        ------
        ParameterError
            Nothing was read and nothing charged.
        """
        if not isinstance(road, str):
            raise ParameterError("road", "be the name of a method", shown(road))
        own = self._class_with_fit()
        for kind in type(self).__mro__:
            if road in vars(kind):
                return
            if kind is own:
                raise ParameterError(
                    road,
                    f"go through fit, which {kind.__name__} has put in the place of another",
                    "the method that it inherits",
                    f"Put what {kind.__name__} makes of a record into `embed`; or use fit; or let it "
                    f"have a {road} of its own.",
                )

    def _class_with_fit(self) -> type | None:
        """The class that overrides the `fit` of a summary; None where none does."""
        kinds = [kind for kind in type(self).__mro__ if "fit" in vars(kind)]
        return kinds[0] if len(kinds) > 1 else None

    def _paying(self) -> Paying:
        """The ledger and the data set in it, where they are given here.

        Raises
        ------
        ParameterError
            If `ledger` is something else.
        """
        return read_ledger(self.ledger)

    def __sklearn_tags__(self) -> Tags:
        """What scikit-learn may expect: noise in every fit, NaN only where it is dealt with."""
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.target_tags.required = self._takes_labels
        reading = self.settings.reading
        tags.input_tags.allow_nan = reading.missing == "complete" or reading.invalid == "repair"
        return tags

    def _set_feature_names(self, X: object, groups: object = None) -> None:
        names = Container.of(X, groups).names
        if names is not None:
            self.feature_names_in_ = names
        elif "feature_names_in_" in vars(self):
            del self.feature_names_in_

    def _check_feature_names(self, X: object) -> None:
        names, labels = getattr(self, "feature_names_in_", None), Container.of(X).labels
        if names is not None and labels and list(names) != labels:
            raise ParameterError(
                "X", "have the columns of fit, in their order: feature names should match", "others"
            )


def _meant(name: str, names: list[str]) -> str:
    # Of points and of follow-ups the public interval is their domain.
    interval = name == "bounds" and "domain" in names
    close = ["domain"] if interval else get_close_matches(name, names, n=1)
    return f"Did you mean {close[0]}?" if close else ""


__all__ = ["Estimator", "read_ledger"]
