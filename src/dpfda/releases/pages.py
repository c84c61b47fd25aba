"""Reports of releases as pages to sign, and their entry in the registry of deployments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from dpfda.numerics.errors import DpfdaError
from dpfda.privacy.composition import Account, account
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, PureDP, ZeroConcentratedDP
from dpfda.privacy.words import claim, first_up, in_short, in_symbols
from dpfda.releases.facts import COMMON, sections
from dpfda.releases.published import Published
from dpfda.views.page import Page, Picture, Section

SIGNED_BY = ("For the custodian of the data", "Data protection officer", "Statistician")
# To be filled in by hand: the program cannot know it.
BLANK = "." * 60
VARIANTS = {
    PureDP: "Pure DP", ApproximateDP: "Approximate DP", ZeroConcentratedDP: "Zero-concentrated DP",
}  # fmt: skip


def report_page(
    releases: Mapping[str, Published],
    hashes: Mapping[str, str] | None = None,
    charged: Mapping[str, str] | None = None,
    delta: object = None,
    title: str | None = None,
) -> Page:
    """The report of one or several releases of one data set.

    releases: By the name of the file, or another name to call it.
    hashes: SHA-256 of each file, by the same names.
    charged: Where the ledger has it, by the same names, in words; None without a ledger.
    delta: Of the total, as in `dpfda.privacy.composition.compose`.
    """
    covered = not any(release.certificate.caveats for release in releases.values())
    total = account(list(releases.values()), delta=delta) if covered else None
    first = next(iter(releases.values()))
    several = len(releases) > 1
    texts = {name: sections(release.facts) for name, release in releases.items()}
    parts = [_release(name, release, texts[name], hashes, charged) for name, release in releases.items()]
    if several:
        parts = [_together(releases, total), *parts]
    # Or each by itself, where they cannot be added up.
    alone = dict.fromkeys(claim(release.certificate) for release in releases.values())
    promise = "; ".join(alone) if total is None else str(total.total)
    return Page(
        title=title or ("Report on what was published" if several else first._title),
        lead=f"Published under {promise}. One {first.unit} is protected.",
        sections=[*parts, _decisions(releases)],
        signatures=SIGNED_BY,
        appendix=_appendix(texts),
    )


def card(release: Published) -> Section:
    """A release in a few facts and a picture: for notebooks."""
    heading = f"{first_up(release._subject)} of {release._of_whom}"
    return Section(heading, facts=release.facts.card(), picture=_picture(release))


def _together(releases: Mapping[str, Published], total: Account | None) -> Section:
    rows = [("File", "What", "Guarantee")]
    rows += [
        (name, f"{release._subject} of {release._of_whom}", claim(release.certificate))
        for name, release in releases.items()
    ]
    if total is None:
        named = ", ".join(name for name, release in releases.items() if release.certificate.caveats)
        paragraphs = [f"No sum is given: the guarantee of {named} does not cover all that was done."]
        return Section("All together", paragraphs, table=rows)
    paragraphs = [
        f"Together these releases of one data set promise {total.in_words()}. Found by: {total.how}.",
        "This holds if they are all that was released of the data. What is not listed adds to it.",
    ]
    whom = dict.fromkeys(release._of_whom for release in releases.values())
    if len(whom) > 1:
        paragraphs.append(
            f"They are of {', '.join(whom)}. The sum is for whoever is in all of them; if the data "
            "changed between two releases, it holds for whoever was in both."
        )
    if total.again:
        paragraphs.append(f"{total.again} of them repeat what another one has paid for, and count once.")
    return Section("All together", paragraphs, table=rows)


def _release(
    name: str,
    release: Published,
    texts: Mapping[str, Sequence[str]],
    hashes: Mapping[str, str] | None,
    charged: Mapping[str, str] | None,
) -> Section:
    certificate = release.certificate
    facts = {
        "Guarantee": claim(certificate),
        "In symbols": in_symbols(certificate),
        "Achieved": str(certificate.achieved),
        "Neighbours": certificate.neighbours.describe(certificate.unit),
        "Bound": str(release.certificate.bound.get("description", "as the file says")),
        "Mechanism": str(release.certificate.mechanism.get("name", "its own")),
        "Release": certificate.identity,
    }
    if hashes is not None:
        facts |= {"File": name, "SHA-256 of the file": hashes[name]}
    if charged is not None:
        facts["Ledger"] = charged[name]
    words = [Section(title, words) for title, words in texts.items() if title not in COMMON]
    heading = f"{first_up(release._subject)} of {release._of_whom}"
    return Section(heading, facts=facts, picture=_picture(release), parts=words)


def _appendix(texts: Mapping[str, Mapping[str, Sequence[str]]]) -> Section:
    """What the promise means, once for all; a paragraph that is not of all says of which it is."""

    def worded(title: str) -> list[str]:
        paragraphs = dict.fromkeys(words for page in texts.values() for words in page.get(title, ()))
        of = {
            words: [name for name, page in texts.items() if words in page.get(title, ())]
            for words in paragraphs
        }
        return [
            words if len(names) == len(texts) else f"{words} ({', '.join(names)})"
            for words, names in of.items()
        ]

    parts = [Section(title, words) for title in COMMON if (words := worded(title))]
    return Section("Appendix: what the promise means", parts=parts)


def _picture(release: Published) -> Picture | None:
    """What can be drawn of a release: nothing on three axes, or of numbers without a place."""
    try:
        views = release._panels()
    except DpfdaError:
        return None
    return Picture(views, f"{release._title}. {in_short(release.certificate)}.")


def _decisions(releases: Mapping[str, Published]) -> Section:
    facts = {}
    for name, release in releases.items():
        before = f"{name}: " if len(releases) > 1 else ""
        bound = release.certificate.bound.get("description", "")
        facts[f"{before}bound, {bound}"] = f"set by, and on what grounds: {BLANK}"
        facts[f"{before}{release.guarantee}"] = f"chosen by, and why: {BLANK}"
    words = (
        "Bounds, epsilon and the unit are public choices. They must not have been made by looking at "
        "these data."
    )
    return Section("Decisions that the program cannot know", [words], facts)


def registry_entry(
    releases: Sequence[Published], name: str = "", curator: str = "", region: str = "", use: str = ""
) -> dict[str, object]:
    """The entry of a deployment in the form of the Differential Privacy Deployments Registry.

    What the program cannot know (who publishes, where, what for) is left to be filled in.

    Parameters
    ----------
    releases : sequence of Release
        All of one data set.
    name, curator, region, use : str
        Name of the product, who publishes it, the region it is about, and its intended use.

    References
    ----------
    Schema ``deployments-schema.yaml`` of https://github.com/opendp/deployments-registry-data (2026).
    """
    total, first = account(releases), releases[0]
    certificate = first.certificate
    subjects = list(dict.fromkeys(f"{release._subject} of {release._of_whom}" for release in releases))
    created = min((str(release.about.get("created", "")) for release in releases), default="")[:10]
    title = name or first_up("; ".join(subjects))
    slug = "-".join("".join(c if c.isalnum() else " " for c in title.lower()).split())[:60]
    return {
        "url_slug": slug,
        "status": "Draft",
        "tier": 2,
        "deployment": {
            "basic": {
                "name": title,
                "data_curators": [curator or "TO FILL IN"],
                "intended_use": use or "TO FILL IN",
                "data_product_type": "Summary statistics",
                "data_product_region": region or "TO FILL IN",
                "description": f"Functions published with dpfda: {'; '.join(subjects)}.",
                "publication_date": created or date.today().isoformat(),
            },
            "dp_variant": {"variant_name": VARIANTS[type(total.total)]},
            "privacy_loss": {
                "privacy_unit": certificate.unit,
                "privacy_unit_details": certificate.neighbours.describe(certificate.unit),
                "privacy_parameters": _numbers(total.total),
            },
            "deployment_model": {
                "model_name": "Central",
                "release_type": "One release" if len(releases) == 1 else "Many releases",
                "data_source_type": "Static",
                "access_type": "Non-interactive",
            },
            "accounting": {
                "post_processing": "All that is computed from a published function is post-processing.",
                "composition": total.how,
            },
            "implementation": {
                "mechanisms": "; ".join(dict.fromkeys(release._made_by for release in releases))
            },
        },
    }


def _numbers(guarantee: Guarantee) -> dict[str, float]:
    return {term: float(getattr(guarantee, term)) for term in guarantee.terms}
