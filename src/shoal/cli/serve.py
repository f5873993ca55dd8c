"""shoal serve: the web app, in a browser on this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import urlsplit

import click

from shoal.cli import options
from shoal.cli.output import say_json

EPILOG = """\b
Examples:
  shoal serve
  shoal serve visits.csv --policy visits.policy.toml
  shoal serve --project visits-project
  shoal serve --demo

Without --project everything is kept in a private folder that is removed at the end.
"""
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@click.command(epilog=EPILOG, short_help="The web app: five steps from a file to a release.")
@click.argument("files", metavar="[FILES]...", nargs=-1)
@click.option("--policy", metavar="FILE", help="A policy file to begin with.")
@click.option("--project", metavar="DIR", help="Keep the project in this folder; it is opened again where it exists.")
@click.option("--demo", is_flag=True, help="Begin with a finished project of made-up patients.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="The port; default: a free one.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.option("--max-upload", type=click.IntRange(1), default=2048, show_default=True, metavar="MB",
              help="The largest file that may be uploaded.")  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS",
              help="Where to listen. Anything but this machine needs the next flag and a password.")  # fmt: skip
@click.option("--i-know-this-exposes-data", "knows", is_flag=True, help="Let other machines reach the project.")
@click.option("--password-file", metavar="FILE", help="The file whose first line is the password for --host; "
              "without it the password is asked for.")  # fmt: skip
@options.common
def serve(
    files: tuple[str, ...],
    policy: str | None,
    project: str | None,
    demo: bool,
    port: int,
    no_browser: bool,
    max_upload: int,
    host: str,
    knows: bool,
    password_file: str | None,
    as_json: bool,
) -> None:
    """Open the web app: from a file to a release and a report, in five steps.

    It listens on this machine only, and only the address that it prints lets a browser in.
    """
    from shoal.web import serve as run

    click.echo("Starting the web app ...", err=True)
    password = None
    if host not in LOOPBACK:
        if not knows:
            raise click.UsageError(
                f"--host {host} would let other machines reach the data in this project. If that is what you want, add "
                "--i-know-this-exposes-data; a password will be asked for. To reach the app from another machine "
                "without opening it to all, use a tunnel: ssh -L."
            )
        password = _password(password_file)
        click.echo(
            "Other machines can reach this project. The connection is not encrypted: whoever can listen on the network "
            "sees the password and the data. End it with Ctrl-C as soon as you can.", err=True,
        )  # fmt: skip
    elif password_file is not None:
        raise click.UsageError("--password-file goes with --host. On this machine the address itself lets you in.")
    if project is None:
        click.echo("The project is removed at the end. Use --project DIR to keep it.", err=True)
    run(
        announce=_announce_json if as_json else _announce,
        files=files,
        policy=policy,
        folder=project,
        demo=demo,
        host=host,
        port=port,
        password=password,
        opens_browser=not no_browser,
        max_upload=max_upload,
        say=lambda words: click.echo(words, err=True),
    )


def _announce(address: str) -> None:
    """The address alone on a line of stdout, never wrapped, at once."""
    click.echo(address)
    sys.stdout.flush()
    click.echo("Open this address in a browser on this machine. End with Ctrl-C.", err=True)


def _announce_json(address: str) -> None:
    """The same as one object on one line."""
    say_json({"url": address, "port": urlsplit(address).port})


FEWEST_CHARACTERS = 12


def _password(file: str | None) -> str:
    """The password from a file or from the keyboard; never from the command line, which others can see."""
    if file is not None:
        try:
            password = Path(file).read_text(encoding="utf-8").split("\n")[0].strip("\r")
        except (OSError, UnicodeDecodeError):
            raise click.UsageError(f"The password file '{file}' cannot be read as text.") from None
    else:
        password = click.prompt("Password for this project", hide_input=True, confirmation_prompt=True, err=True)
    if len(password) < FEWEST_CHARACTERS:
        raise click.UsageError(f"The password must have at least {FEWEST_CHARACTERS} characters.")
    return password
