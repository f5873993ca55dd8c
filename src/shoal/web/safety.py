"""Who may talk to the web app: an ASGI layer around the whole of it, so pages, socket, uploads and downloads alike.

A request is answered only when

- its Host header names this server (so that a name that an attacker points at 127.0.0.1 gets nothing),
- its Origin, where it has one, is this server's; a socket and whatever changes something must have one,
- it brings the cookie that the random token of the address was exchanged for (HttpOnly, SameSite=Strict),
- its body is not larger than allowed.

Where the app listens to other machines, the token leads to a page that asks for the password, and only the password
gives the cookie; wrong ones are answered more and more slowly. Everything else gets a page that says in plain words
what to do. No page of this layer shows anything of a table.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import html
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, parse_qsl, quote, urlencode

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
LARGEST_FORM = 4096
LARGEST_MESSAGE = 1 << 20
"""Of a body that is no upload: what pages send over HTTP is small."""
UPLOADS = "/files/"
SECONDS_TO_READ_AWAY = 20

# NiceGUI builds its pages in the browser: it brings inline scripts and styles, and compiles templates. All of them come
# from this server; nothing is loaded from or sent to anywhere else.
CONTENT_POLICY = "; ".join([
    "default-src 'none'",
    "script-src 'self' 'unsafe-inline' 'unsafe-eval'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "manifest-src 'self'",
    "form-action 'self'",
    "frame-src 'self'",
    "frame-ancestors 'self'",
    "base-uri 'none'",
    "object-src 'none'",
])  # fmt: skip
HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "SAMEORIGIN",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
}


def hosts_of(host: str, port: int) -> frozenset[str]:
    """The Host headers that name a server on this host and port."""
    names = {"127.0.0.1", "localhost", "[::1]"} | ({f"[{host}]" if ":" in host else host.lower()} - {"0.0.0.0", "[::]"})
    return frozenset({f"{name}:{port}" for name in names} | (names if port == 80 else set()))


def seconds_to_wait(n_failures: int) -> float:
    """How long the answer to a wrong password waits: half a second, doubled each time, half a minute at most.

    Examples
    --------
    >>> [seconds_to_wait(n) for n in (0, 1, 2, 3, 20)]
    [0.0, 0.5, 1.0, 2.0, 30.0]
    """
    return 0.0 if n_failures == 0 else min(0.5 * 2.0 ** (n_failures - 1), 30.0)


class Guard:
    """The layer around an app.

    Parameters
    ----------
    app
        What is guarded.
    token
        The random text of the address that the steward opens.
    hosts
        The Host headers that name this server, with their ports. Empty: any (only where a password is asked for).
    max_upload
        How many bytes a file that is sent to `/files/` may have.
    password
        Asked for besides the token where the app listens to other machines; None on loopback.
    cookie
        The name of the cookie; browsers do not keep the ports of one host apart, so it should name the port.
    """

    def __init__(
        self,
        app: App,
        *,
        token: str,
        hosts: Iterable[str],
        max_upload: int,
        password: str | None = None,
        cookie: str = "shoal",
    ) -> None:
        self.app = app
        self.hosts = frozenset(hosts)
        self.max_upload = max_upload
        self.cookie = cookie
        self._token = token
        self._session = secrets.token_urlsafe(32)
        self._entry = secrets.token_urlsafe(32)  # who had the token and still owes the password
        self._password = password
        self._n_failures = 0
        self._turn = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or hand it on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] not in ("http", "websocket"):
            return
        headers = _headers(scope)
        refusal = self._refused_address(scope, headers)
        if refusal is not None:
            if scope["type"] == "http":
                await _read_away(receive, 0)
            await _refuse(scope, send, 403, *refusal)
        elif self._is_known(headers):
            await self._hand_on(scope, headers, receive, send)
        elif scope["type"] == "websocket":
            await _refuse(scope, send, 403, *NO_COOKIE)
        else:
            await self._let_in(scope, headers, receive, send)

    # Where it comes from

    def _refused_address(self, scope: Scope, headers: dict[str, str]) -> tuple[str, str] | None:
        host = headers.get("host", "").lower()
        if self.hosts and host not in self.hosts:
            return OTHER_HOST
        origin = headers.get("origin")
        changes = scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD")
        if origin is None:
            return NO_ORIGIN if changes else None
        return None if origin.lower() in (f"http://{host}", f"https://{host}") else OTHER_ORIGIN

    def _is_known(self, headers: dict[str, str]) -> bool:
        return _same(_cookie(headers, self.cookie), self._session)

    # Token and password

    async def _let_in(self, scope: Scope, headers: dict[str, str], receive: Receive, send: Send) -> None:
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        has_token = _same(query.get("token", [""])[-1], self._token)
        may_try = self._password is not None and (has_token or _same(_cookie(headers, self.cookie), self._entry))
        if has_token and self._password is None and scope["method"] in ("GET", "HEAD"):
            await _redirect(send, _without_token(scope), self._cookie_header(self._session))
        elif may_try and scope["method"] == "POST" and scope["path"] == "/password":
            await self._try_password(receive, send)
        elif may_try:
            given = [self._cookie_header(self._entry)]
            await _answer(send, 200, password_page(), given)
        else:
            was_wrong = "token" in query
            await _read_away(receive, 0)
            await _refuse(scope, send, 403, *(WRONG_TOKEN if was_wrong else NO_COOKIE), again=_came_by_a_link(headers))

    async def _try_password(self, receive: Receive, send: Send) -> None:
        body = await _whole_body(receive, LARGEST_FORM)
        given = parse_qs((body or b"").decode("utf-8", errors="replace")).get("password", [""])[-1]
        async with self._turn:  # one try at a time, so that many at once are no faster
            await asyncio.sleep(seconds_to_wait(self._n_failures))
            is_right = self._password is not None and _same(given, self._password)
            self._n_failures = 0 if is_right else self._n_failures + 1
        if is_right:
            await _redirect(send, "/", self._cookie_header(self._session))
        else:
            await _answer(send, 403, password_page(was_wrong=True))

    def _cookie_header(self, value: str) -> tuple[bytes, bytes]:
        return (b"set-cookie", f"{self.cookie}={value}; Path=/; HttpOnly; SameSite=Strict".encode("latin-1"))

    # What is let through

    async def _hand_on(self, scope: Scope, headers: dict[str, str], receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self.app(scope, receive, send)
            return
        query = scope.get("query_string", b"").decode("latin-1")
        if "token" in parse_qs(query) and scope["method"] in ("GET", "HEAD"):  # keep it out of the address bar
            await _redirect(send, _without_token(scope))
            return
        limit = self.max_upload if scope["path"].startswith(UPLOADS) else LARGEST_MESSAGE
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > limit:
            await _read_away(receive, limit)
            await _refuse(scope, send, 413, *too_large(limit))
            return
        await self._with_limit(scope, receive, send, limit)

    async def _with_limit(self, scope: Scope, receive: Receive, send: Send, limit: int) -> None:
        """Hand on, counting the body (a header may lie) and adding our headers to the answer."""
        n_bytes = 0
        has_begun = is_gone = is_too_large = False

        async def counted() -> Message:
            nonlocal n_bytes, is_gone, is_too_large
            message = await receive()
            is_gone = is_gone or message["type"] == "http.disconnect"
            n_bytes += len(message.get("body", b""))
            if n_bytes > limit:
                is_too_large = True
                raise _TooLargeError
            return message

        async def with_headers(message: Message) -> None:
            nonlocal has_begun
            if is_too_large and not has_begun:  # the app's own words for the error that ended its reading
                return
            if message["type"] == "http.response.start":
                has_begun = True
                own = {name.encode() for name in HEADERS}
                kept = [(name, value) for name, value in message.get("headers", []) if name.lower() not in own]
                if not scope["path"].startswith("/_nicegui"):  # pages and files hold data: no copy stays behind
                    kept = [(name, value) for name, value in kept if name.lower() != b"cache-control"]
                    kept.append((b"cache-control", b"no-store"))
                message = {**message, "headers": [*kept, *_encoded(HEADERS)]}
            await send(message)

        try:
            await self.app(scope, counted, with_headers)
        except Exception:
            if not is_gone and not is_too_large:  # gone: the browser has closed the page, and nobody waits
                logging.getLogger("shoal").exception("an answer failed")  # shown without its words
                if not has_begun:
                    await _refuse(scope, send, 500, *FAULT)
        if is_too_large and not has_begun:
            await _read_away(receive, limit)
            await _refuse(scope, send, 413, *too_large(limit))


class _TooLargeError(Exception):
    """A body went on beyond the limit."""


# Small helpers


def _headers(scope: Scope) -> dict[str, str]:
    """The headers; where one that matters here comes twice, nothing is believed."""
    headers: dict[str, str] = {}
    for name, value in scope.get("headers", []):
        key = name.decode("latin-1").lower()
        if key in headers and key in ("host", "origin", "content-length"):
            headers[key] = "sent twice"
        elif key == "cookie" and key in headers:
            headers[key] += "; " + value.decode("latin-1")
        else:
            headers[key] = value.decode("latin-1")
    return headers


def _cookie(headers: dict[str, str], name: str) -> str:
    jar: SimpleCookie = SimpleCookie()
    for part in headers.get("cookie", "").split(";"):  # one by one: a cookie of another server may be ill-formed
        try:
            jar.load(part.strip())
        except CookieError:
            continue
    return jar[name].value if name in jar else ""


def _same(given: str, expected: str) -> bool:
    """Whether two texts are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode())


def _without_token(scope: Scope) -> str:
    query = parse_qsl(scope.get("query_string", b"").decode("latin-1"))
    rest = urlencode([(name, value) for name, value in query if name != "token"])
    path = quote("/" + scope["path"].lstrip("/\\"))  # never '//elsewhere', never a line end
    return path + (f"?{rest}" if rest else "")


def _came_by_a_link(headers: dict[str, str]) -> bool:
    """Whether a browser holds the cookie back because the address was opened from a page of another site."""
    return headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") == "navigate"


def _encoded(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]


async def _whole_body(receive: Receive, limit: int) -> bytes | None:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > limit or message["type"] != "http.request":
            return None
        if not message.get("more_body"):
            return body


async def _read_away(receive: Receive, limit: int) -> None:
    """Take the rest of a body that is not wanted, within reason: whoever still sends would not hear the answer."""
    n_bytes = 0
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(SECONDS_TO_READ_AWAY):
            while n_bytes < 4 * limit + (64 << 20):
                message = await receive()
                n_bytes += len(message.get("body", b""))
                if message["type"] != "http.request" or not message.get("more_body"):
                    return


async def _answer(send: Send, status: int, page: str, more: Iterable[tuple[bytes, bytes]] = ()) -> None:
    content = page.encode()
    headers = [
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-length", str(len(content)).encode()),
        (b"cache-control", b"no-store"),
        (b"connection", b"close"),
        *_encoded(HEADERS),
        *more,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


async def _redirect(send: Send, place: str, *more: tuple[bytes, bytes]) -> None:
    headers = [
        (b"location", place.encode("latin-1", "ignore")),
        (b"content-length", b"0"),
        (b"cache-control", b"no-store"),
        *_encoded(HEADERS),
        *more,
    ]
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


async def _refuse(scope: Scope, send: Send, status: int, title: str, words: str, *, again: bool = False) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 4403, "reason": title})
        return
    await _answer(send, status, refusal_page(title, words, again=again))


# The pages of this layer, which stand alone

NO_COOKIE = (
    "This page needs the address that shoal printed",
    "shoal printed an address with a token in it when it was started, and opened it in a browser. Open that address: "
    "it is the line that begins with http:// in the window in which 'shoal serve' runs. Other browsers and other "
    "programs on this machine are kept out on purpose.",
)
WRONG_TOKEN = (
    "The token of this address is wrong",
    "Each start of 'shoal serve' has its own token, and an older address does not work any more. Copy the whole line "
    "that shoal printed last, up to its end.",
)
OTHER_HOST = (
    "This name does not belong to shoal",
    "The address in the browser names another host than the one that shoal listens on. Open the address that shoal "
    "printed, as it is.",
)
OTHER_ORIGIN = (
    "Another page asked, and was refused",
    "A page that does not belong to shoal tried to reach it. Nothing was answered and nothing was changed.",
)
NO_ORIGIN = (
    "A request that does not say where it comes from was refused",
    "What changes something must come from a page of shoal itself. Nothing was changed.",
)

FAULT = (
    "Something went wrong in shoal",
    "This is a fault in shoal, not in your data, and nothing was published. Load the page again: what you chose is "
    "kept.",
)


def too_large(limit: int) -> tuple[str, str]:
    """The words for a body beyond the limit."""
    return (
        "This file is too large",
        f"At most {limit / (1 << 20):,.0f} MB are taken. Start shoal with a higher --max-upload, or name the file when "
        "starting it: 'shoal serve FILE' has no such limit.",
    )


STYLE = """
:root { color-scheme: light dark; --ink: #17262b; --soft: #4a5f66; --ground: #f5f7f6; --card: #ffffff;
  --line: #d5dedc; --accent: #0b6a6f; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eeec; --soft: #a9bdbb; --ground: #10191b; --card: #182427;
  --line: #2c3d40; --accent: #5cc3bd; } }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: var(--ground); color: var(--ink);
  font: 17px/1.6 system-ui, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
main { box-sizing: border-box; width: min(36rem, calc(100vw - 3rem)); background: var(--card); padding: 2.25rem 2.5rem;
  border: 1px solid var(--line); border-radius: 14px; }
p { color: var(--soft); margin: .75rem 0 0; } h1 { font-size: 1.45rem; line-height: 1.3; margin: .75rem 0 0; }
.name { font-weight: 700; color: var(--accent); letter-spacing: .01em; margin: 0; }
label { display: block; font-weight: 600; margin-top: 1.25rem; }
input { box-sizing: border-box; width: 100%; font: inherit; padding: .55rem .75rem; margin-top: .35rem; color: inherit;
  border: 1px solid var(--soft); border-radius: 8px; background: transparent; }
button { font: inherit; font-weight: 600; margin-top: 1.25rem; padding: .6rem 1.4rem; border: 0; border-radius: 8px;
  background: var(--accent); color: var(--card); cursor: pointer; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.wrong { color: #a12a1d; font-weight: 600; } @media (prefers-color-scheme: dark) { .wrong { color: #ff9d8f; } }
"""


def _page(title: str, inside: str, head: str = "") -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">{head}<title>{html.escape(title)} - shoal</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>'
        f'<body><main><p class="name">shoal</p><h1>{html.escape(title)}</h1>{inside}</main></body></html>'
    )


def refusal_page(title: str, words: str, *, again: bool = False) -> str:
    """A page that says why nothing is shown and what to do; `again` loads once more, now as a page of ours."""
    return _page(title, f"<p>{html.escape(words)}</p>", '<meta http-equiv="refresh" content="0">' if again else "")


def password_page(*, was_wrong: bool = False) -> str:
    """The page that asks for the password."""
    wrong = (
        '<p class="wrong" role="alert">That is not the password. The next try takes longer.</p>' if was_wrong else ""
    )
    form = (
        '<form method="post" action="/password"><label for="password">Password</label>'
        '<input id="password" name="password" type="password" autocomplete="current-password" required autofocus>'
        '<button type="submit">Open</button></form>'
    )
    words = "<p>This project is open to other machines. The one who started it chose a password.</p>"
    return _page("Password", wrong + words + form)
