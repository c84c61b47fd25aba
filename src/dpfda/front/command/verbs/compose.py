"""`dpfda compose`: what the releases in several files guarantee together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dpfda.front.command import options as o
from dpfda.front.command.running import print_json, say
from dpfda.front.command.verb import Verb

if TYPE_CHECKING:
    from dpfda.privacy.certificates import Certificate


def compose(
    files: list[Path], *, delta: str | None = None, kind: str | None = None, as_json: bool = False
) -> None:
    """Say what releases of one data set guarantee together, and how that was found.

    Reads what each file says was charged. A release is counted once, however many of its copies,
    derivatives and parts are named.

    Parameters
    ----------
    files : F.json...
        Releases of one data set, as written by --out, or a session's answers.
    delta : D
        Delta of the total, far below one over the number of units. Many pure releases then cost less
        than their sum. By default the sum of the releases' deltas. Example: 1e-6
    kind : KIND
        pure, approximate or zero-concentrated.
    """
    from dpfda.front.command.files import opened
    from dpfda.privacy.composition import account
    from dpfda.privacy.written import guarantee_to_json

    certificates = [opened(file).certificate for file in files]
    made = account(certificates, kind, delta)
    parts = [*zip(files, certificates, _repeated(certificates), strict=True)]
    if not as_json:
        say("\n".join([str(made), *(_words(*part) for part in parts)]))
        return
    print_json(
        {
            "total": guarantee_to_json(made.total),
            "how": made.how,
            "neighbours": str(made.neighbours),
            "privacy_unit": made.unit,
            "files": [
                {"file": str(file), "counted_before": again, **_parts(certificate)}
                for file, certificate, again in parts
            ],
        }
    )


def _repeated(certificates: list[Certificate]) -> list[bool]:
    """Whether all that a file's release cost is counted with a file before it."""
    seen: set[object] = set()
    found = []
    for certificate in certificates:
        charges = set(certificate.charges)
        found.append(charges <= seen)
        seen |= charges
    return found


def _words(file: Path, certificate: Certificate, again: bool) -> str:
    stages = zip(certificate.stages, certificate.costs, strict=True)
    told = "; ".join(f"{stage}, {cost.loss.describe()}" for stage, cost in stages)
    counted = " (counted before)" if again else ""
    return f"{file}: {certificate.guarantee}{counted}\n  {told}"


def _parts(certificate: Certificate) -> dict[str, object]:
    from dpfda.privacy.written import certificate_to_json

    kept = ("guarantee", "achieved_guarantee", "neighbours", "privacy_unit", "costs", "release_id")
    written = certificate_to_json(certificate)
    return {name: written[name] for name in kept}


VERB = Verb.of(
    "compose",
    compose,
    (
        "dpfda compose mean.json density.json",
        "dpfda compose mean.json density.json groups.json --delta 1e-6 --json",
    ),
    o.RELEASED,
)
