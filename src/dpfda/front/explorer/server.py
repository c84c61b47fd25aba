"""The explorer's server: three answers, to this machine and to who knows the address alone.

It is Python's own WSGI server, bound to loopback. No file is read and nothing is kept. The address has a
secret part; a request under another host's name (a name that was made to point here), or one that a
page of another origin sends, is refused, and no page is told that it may read answers.
"""

from __future__ import annotations

import secrets
import socketserver
import threading
from collections.abc import Callable, Iterable, Mapping
from hmac import compare_digest
from http import HTTPStatus
from urllib.parse import parse_qsl
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer
from wsgiref.types import WSGIEnvironment

from dpfda.command.running import typed
from dpfda.front.explorer.imagined import (
    DELTA,
    EPSILON,
    KERNELS,
    NEIGHBOURS,
    POINTS,
    UNITS,
    Setting,
)
from dpfda.front.explorer.shapes import SHAPES
from dpfda.numerics.errors import DpfdaError
from dpfda.views.page import rendered

LOOPBACK = "127.0.0.1"
LONGEST = 2000
FORM_FIELDS = 40
# Seconds that a connection may say nothing.
PATIENCE = 10
Start = Callable[[str, list[tuple[str, str]]], object]
Limits = {"epsilon": EPSILON, "delta": DELTA, "curves": UNITS, "points": POINTS}


class Explorer:
    """The page as a WSGI application.

    Parameters
    ----------
    hosts : iterable of str
        What a request may call this server: names with the port.
    """

    def __init__(self, hosts: Iterable[str]) -> None:
        self.hosts = frozenset(hosts)
        self.secret = secrets.token_urlsafe(16)
        # matplotlib draws one picture at a time.
        self._one = threading.Lock()

    @property
    def path(self) -> str:
        """Path of the page."""
        return f"/{self.secret}/"

    def __call__(self, asked: WSGIEnvironment, start: Start) -> list[bytes]:
        status, text, nonce = self.answer(asked)
        body = text.encode()
        start(f"{status.value} {status.phrase}", _headers(len(body), nonce))
        return [] if asked["REQUEST_METHOD"] == "HEAD" else [body]

    def answer(self, asked: WSGIEnvironment) -> tuple[HTTPStatus, str, str]:
        """Status, page and the mark of its own script."""
        nonce = secrets.token_urlsafe(16)
        refused = self.refusal(asked)
        if refused is not None:
            return refused, f"{refused.value} {refused.phrase}\n", nonce
        try:
            query = parse_qsl(
                asked.get("QUERY_STRING", ""), keep_blank_values=True, max_num_fields=FORM_FIELDS
            )
        except ValueError:
            return HTTPStatus.BAD_REQUEST, "400 Bad Request\n", nonce
        sent, part = dict(query), asked["PATH_INFO"] == self.path + "shown"
        with self._one:
            status, text = _page(sent, "shown.html" if part else "explore.html", nonce)
        return status, text, nonce

    def refusal(self, asked: WSGIEnvironment) -> HTTPStatus | None:
        """Why a request is not answered; None where it is."""
        if asked.get("HTTP_HOST", "") not in self.hosts:
            return HTTPStatus.MISDIRECTED_REQUEST
        if asked.get("HTTP_SEC_FETCH_SITE", "none") not in ("none", "same-origin"):
            return HTTPStatus.FORBIDDEN
        path = str(asked.get("PATH_INFO", "")).encode()
        if not compare_digest(path.removesuffix(b"shown"), self.path.encode()):
            return HTTPStatus.NOT_FOUND
        if asked["REQUEST_METHOD"] not in ("GET", "HEAD"):
            return HTTPStatus.METHOD_NOT_ALLOWED
        if len(asked.get("QUERY_STRING", "")) > LONGEST:
            return HTTPStatus.REQUEST_URI_TOO_LONG
        return None


def _page(sent: Mapping[str, str], template: str, nonce: str) -> tuple[HTTPStatus, str]:
    """A whole page, or the part of it that changes, for what a form sent."""
    setting, imagined, refused = Setting(), None, None
    try:
        setting = Setting.read(sent)
        imagined = setting.imagine()
    except DpfdaError as error:
        refused = typed(error)
    text = rendered(
        template,
        "dpfda.front.explorer",
        "dpfda explore",
        setting=setting.sent() | ({} if refused is None else dict(sent)),
        imagined=imagined,
        refused=refused,
        shapes=SHAPES,
        kernels=KERNELS,
        neighbours=NEIGHBOURS,
        limits=Limits,
        narrow="narrow" in sent,
        # A page of its own has them; else they are asked for when they are opened.
        words=template == "explore.html" or "words" in sent,
        nonce=nonce,
    )
    return (HTTPStatus.OK if refused is None else HTTPStatus.UNPROCESSABLE_ENTITY), text


def _headers(length: int, nonce: str) -> list[tuple[str, str]]:
    policy = (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    return [
        ("Content-Type", "text/html; charset=utf-8"),
        ("Content-Length", str(length)),
        ("Content-Security-Policy", policy),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Referrer-Policy", "no-referrer"),
        ("X-Content-Type-Options", "nosniff"),
        ("Cache-Control", "no-store"),
    ]


class _Server(socketserver.ThreadingMixIn, WSGIServer):
    # A browser keeps connections open on which it says nothing: their threads end with the rest.
    daemon_threads = True

    def server_bind(self) -> None:
        """Bind without asking any other machine for a name."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = LOOPBACK, self.server_address[1]
        self.setup_environ()


class _Handler(WSGIRequestHandler):
    timeout = PATIENCE

    def address_string(self) -> str:
        """Who asks, without asking any other machine for a name."""
        return str(self.client_address[0])

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing: the address has the secret in it."""


def serve(port: int = 0) -> tuple[WSGIServer, str]:
    """A server on loopback that is ready to run, and the address of its page.

    Parameters
    ----------
    port : int
        0 for one that is free.

    Raises
    ------
    OSError
        If the port is taken.
    """
    server = _Server((LOOPBACK, port), _Handler)
    taken = server.server_port
    explorer = Explorer(f"{name}:{taken}" for name in (LOOPBACK, "localhost"))
    server.set_app(explorer)
    return server, f"http://{LOOPBACK}:{taken}{explorer.path}"
