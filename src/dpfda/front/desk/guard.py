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

    def refusal(self, asked: Request) -> HTTPStatus | None:
        """Why a request is not answered; None where it is."""
        host, origin = asked.headers.get("Host", ""), asked.headers.get("Origin")
        # The link may stand anywhere: its token is the proof.
        link = asked.path.startswith("/open/")
        sites = ("none", "same-origin", *(("same-site", "cross-site") if link else ()))
        elsewhere = asked.headers.get("Sec-Fetch-Site", "none") not in sites
        allowed = ("GET",) if link else ("GET", "HEAD", "POST")
        reasons = {
            HTTPStatus.MISDIRECTED_REQUEST: host not in self.hosts,
            HTTPStatus.FORBIDDEN: elsewhere or origin not in (None, f"http://{host}"),
            HTTPStatus.METHOD_NOT_ALLOWED: asked.method not in allowed,
            HTTPStatus.NOT_FOUND: not link and not asked.path.startswith(f"{self.place}/"),
            HTTPStatus.UNAUTHORIZED: not link and not _same(asked.cookies.get(COOKIE, ""), self.session),
        }
        found = next((status for status, refused in reasons.items() if refused), None)
        return self._posted(asked) if found is None and asked.method == "POST" else found

    def _posted(self, asked: Request) -> HTTPStatus | None:
        with_file = asked.mimetype == "multipart/form-data" and asked.path == f"{self.place}/"
        most = asked.max_content_length = LARGEST_FILE if with_file else LARGEST_FORM
        if asked.content_length is None:
            return HTTPStatus.LENGTH_REQUIRED
        if asked.content_length > most:
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        # Browsers say where a post is from.
        marked = "Origin" in asked.headers and _same(asked.form.get("mark", ""), self.mark)
        return None if marked else HTTPStatus.FORBIDDEN

    def admit(self, answer: Response) -> Response:
        """Give the cookie with an answer."""
        answer.set_cookie(COOKIE, self.session, path=self.place, httponly=True, samesite="Strict")
        return answer


def _same(given: str, known: str) -> bool:
    return compare_digest(given.encode("utf-8", "surrogatepass"), known.encode())


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
