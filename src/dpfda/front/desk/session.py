"""One run of the desk: its folder, the draft so far, what was begun; and how it shows a page."""

from __future__ import annotations

import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hmac import compare_digest
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

from flask import Request, Response, g, redirect, request
from werkzeug.wrappers import Response as AnyResponse

from dpfda.command.functions import called
from dpfda.front.desk.fields import KNOWN
from dpfda.front.desk.opening import Uploads
from dpfda.front.desk.studies import Draft, Publications, Said, captured, check_name, planned
from dpfda.front.verbs import declared_verbs
from dpfda.numerics.encoding import Json
from dpfda.numerics.errors import DpfdaError, ParameterError
from dpfda.privacy.ledger.history import Charged
from dpfda.views.page import rendered

Answer = AnyResponse | tuple[str, int]
LEDGER = "budget.ledger"
Made = TypeVar("Made")
# What each step is called.
STEPS = {
    "/": "File", "/protect": "Protect", "/ask": "Ask", "/plan": "Plan", "/try": "Try and publish",
    "/read": "Read", "/ledger": "Ledger", "/explore/": "Explore",
}  # fmt: skip


@dataclass
class Desk:
    """One run of the desk; studies, releases and the ledger lie in its folder."""

    folder: Path
    guard: Guard
    draft: Draft = field(default_factory=Draft)
    uploads: Uploads = field(default_factory=Uploads)
    publications: Publications = field(default_factory=Publications)

    @property
    def ledger(self) -> Path:
        """The ledger's file."""
        return self.folder / str(self.draft.data.get("ledger", LEDGER))

    def tried(self, draft: Draft) -> Said:
        """What a dry run says: nothing is charged, and of the file the header alone is read."""
        outcome = captured(lambda: planned(draft, self.folder).call("--dry-run", "--json"))
        return outcome.screened(draft)

    def released(self, name: str, suffix: str = ".json") -> Path:
        """A file of a release; refused where the folder has none."""
        path = self.folder / f"{check_name(name)}{suffix}"
        if not path.is_file():
            raise ParameterError("Name", "be that of a release in the desk's folder", repr(name))
        return path

    def releases(self) -> list[str]:
        """Names of the releases in the folder that a desk made."""
        studies = sorted(self.folder.glob("*.toml"))
        return [path.stem for path in studies if path.with_suffix(".json").is_file()]


def desk() -> Desk:
    """The desk that is asked."""
    current: Desk = g.desk
    return current


def page(name: str, /, refused: str = "", status: int = 422, **shown: object) -> tuple[str, int]:
    """A page, whose title and first words are known by its name; with a status where it is refused.

    **shown: Of what `step.html` shows, what this page has; and what its first words say.
    """
    title, lead = (text.format(**shown) for text in KNOWN["pages"][name])
    head = {"title": title, "lead": lead, "refused": refused, "steps": STEPS, "draft": desk().draft}
    secrets = {"mark": desk().guard.mark, "nonce": g.nonce}
    return part("step.html", **head, **secrets, **shown), status if refused else 200


def part(template: str = "shown.html", **shown: Any) -> str:
    """A template filled in: the part of a page that answers while one types, or all of it."""
    place = desk().guard.place
    here = request.path.removeprefix(place).split("/")[1]
    own: Json = {"place": place, "here": here, "opened": "words" in request.args}
    return rendered(template, (__package__,), "dpfda desk", **own, **shown)


def go(step: str) -> AnyResponse:
    """To another page, which is asked for anew."""
    return redirect(desk().guard.place + step, 303)


def run(verb: str, file: Path, stated: Mapping[str, object]) -> Said:
    """Run a verb as it is typed, and keep what it says; options that state nothing are left out."""
    options = [str(word) for name, value in stated.items() if value for word in (f"--{name}", value)]
    return captured(lambda: called(declared_verbs()[verb], [str(file), "--json", *options]))


def calendar(charged: Iterable[Charged]) -> str:
    """How many releases each month has, of rows of a ledger."""
    months = Counter(row["time"][:7] for row in charged)
    return ", ".join(f"{month}: {count}" for month, count in months.items()) or "none yet"


def or_none(make: Callable[[], Made]) -> Made | None:
    """What can be made, or None: not all releases have a picture, a table and a study of their own."""
    with suppress(DpfdaError, OSError, ValueError):
        return make()
    return None


COOKIE = "dpfda-desk"
# Of a form without a file; what is longer is none of this desk's.
LARGEST_FORM = 2**18
# Of a file that comes through the browser. Larger ones are named by their paths, and not copied.
LARGEST_FILE = 2**29


def _secret() -> str:
    return secrets.token_urlsafe(24)


@dataclass
class Guard:
    """Names, token, cookie and marks of one desk.

    Parameters
    ----------
    hosts : iterable of str
        What a request may call this server: names with the port.
    """

    hosts: Iterable[str]
    token: str = field(default_factory=_secret)
    session: str = field(default_factory=_secret)
    mark: str = field(default_factory=_secret)
    place: str = field(default_factory=lambda: f"/{secrets.token_urlsafe(12)}")
    # Held for good by who used the token.
    taken: threading.Lock = field(default_factory=threading.Lock)

    def exchange(self, token: str) -> bool:
        """Whether a link's token is the one, which is used up by it."""
        return _same(token, self.token) and self.taken.acquire(blocking=False)

    def refusal(self, sent: Request) -> HTTPStatus | None:
        """Why a request is not answered; None where it is."""
        host, origin = sent.headers.get("Host", ""), sent.headers.get("Origin")
        # The link may stand anywhere: its token is the proof.
        link = sent.path.startswith("/open/")
        sites = ("none", "same-origin", *(("same-site", "cross-site") if link else ()))
        elsewhere = sent.headers.get("Sec-Fetch-Site", "none") not in sites
        allowed = ("GET",) if link else ("GET", "HEAD", "POST")
        reasons = {
            HTTPStatus.MISDIRECTED_REQUEST: host not in self.hosts,
            HTTPStatus.FORBIDDEN: elsewhere or origin not in (None, f"http://{host}"),
            HTTPStatus.METHOD_NOT_ALLOWED: sent.method not in allowed,
            HTTPStatus.NOT_FOUND: not link and not sent.path.startswith(f"{self.place}/"),
            HTTPStatus.UNAUTHORIZED: not link and not _same(sent.cookies.get(COOKIE, ""), self.session),
        }
        reason = next((status for status, refused in reasons.items() if refused), None)
        return self._posted(sent) if reason is None and sent.method == "POST" else reason

    def _posted(self, sent: Request) -> HTTPStatus | None:
        with_file = sent.mimetype == "multipart/form-data" and sent.path == f"{self.place}/"
        most = sent.max_content_length = LARGEST_FILE if with_file else LARGEST_FORM
        if sent.content_length is None:
            return HTTPStatus.LENGTH_REQUIRED
        if sent.content_length > most:
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        # Browsers say where a post is from.
        marked = "Origin" in sent.headers and _same(sent.form.get("mark", ""), self.mark)
        return None if marked else HTTPStatus.FORBIDDEN

    def admit(self, answer: Response) -> Response:
        """Give the cookie with an answer."""
        answer.set_cookie(COOKIE, self.session, path=self.place, httponly=True, samesite="Strict")
        return answer


def _same(text: str, expected: str) -> bool:
    return compare_digest(text.encode("utf-8", "surrogatepass"), expected.encode())


def headers(answer: Response, nonce: str) -> Response:
    """What a browser may do with an answer: nothing from elsewhere, nothing kept."""
    answer.headers |= {
        "Content-Security-Policy": f"default-src 'none'; script-src 'nonce-{nonce}'; "
        "style-src 'unsafe-inline'; img-src data:; connect-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        # Else a browser would say of a post that it comes from nowhere.
        "Referrer-Policy": "same-origin",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }
    return answer
