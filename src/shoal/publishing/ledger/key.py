"""The key of a ledger, in a file of its own that only its owner can read, and the hashes that it makes."""

from __future__ import annotations

import contextlib
import hmac
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterable
from pathlib import Path

from shoal.errors import InputError, OutputError

KEY_BYTES = 32
HASH_BYTES = 16
"""How much of an HMAC-SHA-256 the ledger keeps: half of it, as RFC 2104 allows, so that two persons are never one."""


class Key:
    """Makes keyed hashes; neither its text nor its representation shows the key."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def __repr__(self) -> str:
        return "Key(...)"

    def hashes(self, what: str, texts: Iterable[str | None]) -> list[bytes]:
        """HMAC-SHA-256 of each text, the first 16 bytes; what the texts are keeps equal texts of two kinds apart."""
        kind = what.encode() + b"\0"
        return [
            hmac.digest(self._secret, kind + (b"0" if text is None else b"1" + text.encode()), "sha256")[:HASH_BYTES]
            for text in texts
        ]

    @property
    def check(self) -> bytes:
        """What a ledger keeps to know its own key again."""
        return self.hashes("this ledger's key", [None])[0]


def read_key(path: Path) -> Key:
    """Read a key; refuse one that others may read, or that is none."""
    try:
        status = os.stat(path)
        text = path.read_bytes()
    except FileNotFoundError:
        raise InputError(
            f"There is no key file '{path}', so nobody in the ledger can be known again. Put the key back, or name it "
            "with key=."
        ) from None
    except OSError as error:
        raise InputError(f"The key file '{path}' cannot be read: {error.strerror}.") from None
    if sys.platform != "win32" and stat.S_IMODE(status.st_mode) & 0o077:
        raise InputError(
            f"Others than its owner may read or write the key file '{path}'. Take their permissions away: "
            f"chmod 600 '{path}'."
        )
    if not re.fullmatch(rb"[0-9a-f]{64}\s*", text):
        raise InputError(f"The file '{path}' holds no key of a ledger: 64 hexadecimal digits are expected.")
    return Key(bytes.fromhex(text.decode().strip()))


def create_key(path: Path) -> Key:
    """Make a key and write it to a new file that only its owner can read; an existing file is read, never replaced.

    The file is written whole beside its place and then linked there, so that a kill leaves no half of a key.
    """
    try:
        remove_leftovers(path)
        new = path.with_name(f".{path.name}.shoal-new-{secrets.token_hex(8)}")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(KEY_BYTES) + "\n")
            file.flush()
            os.fsync(file.fileno())
        put(new, path)
    except OSError as error:
        raise OutputError(
            f"The key file '{path}' cannot be made: {error.strerror}. Nothing was written. Name another with key=."
        ) from None
    return read_key(path)


def put(new: Path, path: Path) -> None:
    """Give a file its name unless that is taken; where there are no hard links, in two steps."""
    try:
        os.link(new, path)
    except FileExistsError:
        pass
    except OSError:
        if not path.exists():
            os.rename(new, path)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(new)


def remove_leftovers(path: Path) -> None:
    """Remove what killed runs left beside a key file."""
    ours = re.compile(rf"\.{re.escape(path.name)}\.shoal-new-[0-9a-f]{{16}}")
    with contextlib.suppress(OSError):
        for name in os.listdir(path.parent):
            if ours.fullmatch(name):
                os.unlink(path.with_name(name))
