"""The desk's server: on this machine alone, and until it is stopped."""

from __future__ import annotations

import secrets
import signal
import socket
import sys
import webbrowser
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import NoReturn

from flask import Flask, Response, abort, g, request
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from dpfda.command.running import say, typed
from dpfda.front.desk.asking import ASKING
from dpfda.front.desk.explorer import EXPLORING
from dpfda.front.desk.fields import WORDS
from dpfda.front.desk.publishing import PUBLISHING
from dpfda.front.desk.session import Answer, Desk, Guard, headers, page
from dpfda.front.desk.studies import BusyError
from dpfda.numerics.errors import DpfdaError

LOOPBACK = "127.0.0.1"
# Signals that end a desk, which then removes uploaded files. A closed terminal sends one.
ENDINGS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
# Seconds that a connection may say nothing.
SILENCE = 30
ENTRANCE = '<!DOCTYPE html><title>dpfda desk</title><meta http-equiv="refresh" content="0;url={}">'


def make_app(desk: Desk) -> Flask:
    """The pages of a desk as an application."""
    app = Flask("dpfda-desk", static_folder=None)
    for pages in (ASKING, PUBLISHING, EXPLORING):
        app.register_blueprint(pages, url_prefix=desk.guard.place)

    @app.before_request
    def refuse() -> None:
        g.nonce, g.desk = secrets.token_urlsafe(16), desk
        refused = desk.guard.refusal(request)
        if refused is not None:
            abort(refused)

    app.after_request(lambda answer: headers(answer, g.nonce))

    @app.get("/open/<token>")
    def enter(token: str) -> Answer:
        if not desk.guard.exchange(token):
            abort(HTTPStatus.FORBIDDEN)
        # By way of a page of its own: where another site, such as a terminal in a browser, led here, a
        # cookie that was just given is not sent at once.
        step = "/explore/" if "explore" in request.args else "/"
        return desk.guard.admit(Response(ENTRANCE.format(desk.guard.place + step)))

    @app.errorhandler(Exception)
    def failed(error: Exception) -> Answer:
        # Its words, and what is on its way, could hold private values.
        words, status = f"Unexpected {type(error).__name__}, whose details are not shown.", 500
        if isinstance(error, RequestEntityTooLarge):
            words, status = WORDS["too_large"], 413
        elif isinstance(error, HTTPException):
            code = HTTPStatus(error.code or 500)
            return Response(f"{code.value} {code.phrase}\n", code, mimetype="text/plain")
        elif isinstance(error, DpfdaError):
            words, status = typed(error), 422
        elif isinstance(error, OSError):
            # The system's words without the path.
            words, status = f"The system refuses it: {error.strerror or 'no reason'}.", 422
        elif isinstance(error, BusyError):
            words, status = "Another page's work is under way. Try again.", 503
        return page("refused", words, status, links={"To the first step": "/"})

    return app


class _Handler(WSGIRequestHandler):
    timeout = SILENCE

    def log(self, type: str, message: str, *args: object) -> None:
        """Say nothing: addresses have secrets in them."""

    def version_string(self) -> str:
        return "dpfda"


def serve(folder: Path, port: int = 0) -> tuple[BaseWSGIServer, Desk, str]:
    """A server on loopback that is ready to run, its desk, and the link that opens it once.

    folder: Where studies, releases and the ledger lie.
    port: 0 for one that is free. Raises OSError if it is taken.
    """
    # Bound here: the names that requests may use hold the port.
    with socket.create_server((LOOPBACK, port)) as bound:
        taken = bound.getsockname()[1]
        desk = Desk(folder, Guard(frozenset(f"{name}:{taken}" for name in (LOOPBACK, "localhost"))))
        server = make_server(
            LOOPBACK, taken, make_app(desk), threaded=True, request_handler=_Handler, fd=bound.fileno()
        )
    return server, desk, f"http://{LOOPBACK}:{taken}/open/{desk.guard.token}"


def _end(*_: object) -> NoReturn:
    """End once: what comes after does not break off a release that was charged."""
    for ending in ENDINGS:
        signal.signal(ending, signal.SIG_IGN)
    raise KeyboardInterrupt


def run(folder: Path, port: int, browser: bool, what: str = "Desk") -> None:
    """Serve until an interrupt, then end after a release that is under way.

    what: "Desk", or "Explorer" to begin with its page.
    """
    server, desk, link = serve(folder, port)
    link += "?explore" if what == "Explorer" else ""
    # The process's own: what is printed while a release is made is kept for its page.
    out = sys.stdout
    for ending in ENDINGS:
        # Who started it with nohup wants it to outlive the terminal.
        if signal.getsignal(ending) != signal.SIG_IGN:
            signal.signal(ending, _end)
    try:
        with server, suppress(KeyboardInterrupt):
            say(f"{what}: {link}\nOn this machine only; the link works once. Ctrl-C stops it.")
            if browser:
                webbrowser.open(link)
            server.serve_forever()
    finally:
        if desk.publications.running():
            with suppress(OSError, ValueError):
                say("a release is under way: the desk ends after it", file=out)
        desk.publications.join()
        desk.uploads.close()
    say("stopped")
