"""The server that the tests start, and who may come in: a password that must turn up nowhere."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

PASSWORD = f"CanaryPassword{secrets.token_hex(8)}"
USER = "canaryuser"
DATABASE = "clinic"


@dataclass(frozen=True)
class Server:
    """Where the server listens, and who may come in."""

    port: int
    folder: Path
    password: str = PASSWORD
    user: str = USER
    database: str = DATABASE

    @property
    def url(self) -> str:
        """With user and password, as nobody should write it."""
        return f"postgresql://{USER}:{PASSWORD}@127.0.0.1:{self.port}/{DATABASE}"

    @property
    def bare_url(self) -> str:
        """Without user and password, which come from elsewhere."""
        return f"postgresql://127.0.0.1:{self.port}/{DATABASE}"

    def run(self, *statements: str) -> None:
        """Run statements that give nothing back."""
        import adbc_driver_postgresql.dbapi as dbapi

        with dbapi.connect(self.url) as connection:
            with connection.cursor() as cursor:
                for statement in statements:
                    cursor.executescript(statement)
            connection.commit()

    def ask(self, query: str) -> list[tuple[object, ...]]:
        """What a query gives."""
        import adbc_driver_postgresql.dbapi as dbapi

        with dbapi.connect(self.url) as connection, connection.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetchall()
