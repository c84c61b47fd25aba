"""Who is answered: this machine's browser that opened the link once, and no page of another origin.

The link's token works once and is exchanged for a cookie that no script reads and no other site's page
sends; it is sent to this desk's own secret path alone, since cookies are not kept apart by ports. A
request under another host's name (a name that was made to point here), from another origin, or a post
without the mark that this desk's own forms carry, is refused.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from hmac import compare_digest
from http import HTTPStatus

from flask import Request, Response

COOKIE = "dpfda-desk"
CSRF = "mark"
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
    token: str | None = field(default_factory=_secret)
    session: str = field(default_factory=_secret)
    mark: str = field(default_factory=_secret)
    place: str = field(default_factory=lambda: f"/{secrets.token_urlsafe(12)}")
    lock: threading.Lock = field(default_factory=threading.Lock)

    def exchange(self, token: str) -> bool:
        """Whether a link's token is the one, which is used up by it."""
        with self.lock:
            known = self.token is not None and _same(token, self.token)
            if known:
                self.token = None
        return known

    def refusal(self, asked: Request) -> HTTPStatus | None:
        """Why a request is not answered; None where it is."""
        if asked.headers.get("Host", "") not in self.hosts:
            return HTTPStatus.MISDIRECTED_REQUEST
        if asked.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            return HTTPStatus.FORBIDDEN
        origin = asked.headers.get("Origin")
        if origin is not None and origin != f"http://{asked.headers['Host']}":
            return HTTPStatus.FORBIDDEN
        if asked.method not in ("GET", "HEAD", "POST"):
            return HTTPStatus.METHOD_NOT_ALLOWED
        if asked.path.startswith("/open/"):
            return None if asked.method == "GET" else HTTPStatus.METHOD_NOT_ALLOWED
        if not asked.path.startswith(f"{self.place}/"):
            return HTTPStatus.NOT_FOUND
        if not _same(asked.cookies.get(COOKIE, ""), self.session):
            return HTTPStatus.FORBIDDEN
        if asked.method == "POST":
            return self._posted(asked, origin)
        return None

    def _posted(self, asked: Request, origin: str | None) -> HTTPStatus | None:
        # Browsers say where a post is from.
        if origin is None:
            return HTTPStatus.FORBIDDEN
        with_file = asked.mimetype == "multipart/form-data" and asked.path == f"{self.place}/"
        asked.max_content_length = LARGEST_FILE if with_file else LARGEST_FORM
        if asked.content_length is None:
            return HTTPStatus.LENGTH_REQUIRED
        if asked.content_length > asked.max_content_length:
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        return None if _same(asked.form.get(CSRF, ""), self.mark) else HTTPStatus.FORBIDDEN

    def admit(self, answer: Response) -> Response:
        """Give the cookie with an answer."""
        answer.set_cookie(
            COOKIE, self.session, path=self.place, httponly=True, samesite="Strict", secure=False
        )
        return answer


def _same(given: str, known: str) -> bool:
    return compare_digest(given.encode("utf-8", "surrogatepass"), known.encode())


def headers(answer: Response, nonce: str) -> Response:
    """What a browser may do with an answer: nothing from elsewhere, nothing kept."""
    answer.headers["Content-Security-Policy"] = (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    answer.headers |= {
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        # Else a browser would say of a post that it comes from nowhere.
        "Referrer-Policy": "same-origin",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }
    return answer
