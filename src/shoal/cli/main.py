"""The command `shoal`: which commands there are, and how errors become messages and exit codes.

Only click is imported here, and only a command's own flags when help is shown, so that `shoal --help` answers at once.
A new command is a file in this folder with a click command of the same name, and its name in `COMMANDS`.
"""

from __future__ import annotations

import importlib
import traceback
from typing import Any

import click

import shoal
from shoal.cli.output import expect_json, in_flags, say_error
from shoal.cli.quick_start import start_quickly
from shoal.errors import NotEnoughMemoryError, ShoalError, did_you_mean, without_credentials

COMMANDS = ("demo", "profile", "assess", "mine", "protect", "apply", "verify", "report", "attack", "ledger", "tune",
            "compare", "serve", "project", "warm-up")  # fmt: skip
UNEXPECTED = 1


class LazyGroup(click.Group):
    """A group whose commands are imported when they are needed, and whose errors are told in words."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which one uses them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name, imported now."""
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(importlib.import_module(f"shoal.cli.{name}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; a mistyped name gets the closest one as a hint."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            hint = did_you_mean(args[0], COMMANDS).strip() or f"Commands are: {', '.join(COMMANDS)}."
            raise click.UsageError(f"There is no command '{args[0]}'. {hint}", ctx)
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Note whether one JSON object is expected, also where the flags turn out to be wrong."""
        expect_json("--json" in args)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            _tell_misused(ctx, error)
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what it raises becomes a message on stderr and an exit code, never values of the table."""
        try:
            return super().invoke(ctx)
        except ShoalError as error:
            if ctx.meta.get("shoal.debug"):
                traceback.print_exc()
            _tell(error, self.get_command(ctx, ctx.invoked_subcommand or ""))
            ctx.exit(error.exit_code)
        except click.ClickException as error:
            _tell_misused(ctx, error)
            if without_credentials(error.message) != error.message:
                raise click.UsageError(without_credentials(error.message), ctx) from None
            raise
        except (KeyboardInterrupt, click.Abort):
            say_error("Interrupted", "The command was interrupted before it had an answer.", None)
            raise
        except (click.exceptions.Exit, SystemExit, BrokenPipeError):
            raise
        except MemoryError as error:
            _tell_too_little_memory(ctx, error)
        except BaseException as error:  # also the panics of what is written in Rust
            _tell_unexpected(ctx, error)


def _tell(error: ShoalError, command: click.Command | None = None) -> None:
    """Say an error on stderr, and as an object on stdout where one is expected; choices are flags of the command."""
    kind = type(error).__name__
    message, hint = (in_flags(without_credentials(said), command) for said in (str(error), error.hint or ""))
    click.echo(f"{kind}: {message}", err=True)
    say_error(kind, message, hint or None)


def _tell_misused(ctx: click.Context, error: click.ClickException) -> None:
    """The object for a command that was typed wrongly; click says the same on stderr."""
    usage = error.ctx if isinstance(error, click.UsageError) and error.ctx is not None else ctx
    hint = ShoalError(error.message).hint or f"Try '{usage.command_path} {usage.help_option_names[-1]}' for help."
    if isinstance(error, click.NoSuchOption) and error.possibilities:
        begun = [flag for flag in error.possibilities if flag.startswith(error.option_name)]
        hint = f"Did you mean {' or '.join(sorted(begun or error.possibilities))}?"
    say_error("UsageError", without_credentials(error.format_message()), hint)


def _tell_unexpected(ctx: click.Context, error: BaseException) -> None:
    """Where an unexpected error came up. Its own words may hold values of the table: they are for --debug only."""
    if ctx.meta.get("shoal.debug"):
        traceback.print_exc()
    hint = "Run again with --debug to see it in full; that may show values of the table."
    happened = f"Unexpected {type(error).__name__}{_place_of(error)}. Nothing was written. This is a fault in shoal."
    message = f"{happened} {hint}"
    click.echo(message, err=True)
    say_error("Unexpected", message, hint)
    ctx.exit(UNEXPECTED)


def _tell_too_little_memory(ctx: click.Context, error: MemoryError) -> None:
    if ctx.meta.get("shoal.debug"):
        traceback.print_exc()
    hint = "Free some memory, take fewer columns, or protect a Parquet or CSV file in portions (--engine stream)."
    told = NotEnoughMemoryError(
        f"There is too little memory for this table{_place_of(error)}. Nothing was written. {hint}", hint=hint
    )
    _tell(told)
    ctx.exit(told.exit_code)


def _place_of(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "shoal" in frame.filename.replace("\\", "/").split("/")]
    return f" (at {ours[-1].name} in {ours[-1].filename.replace(chr(92), '/').split('/')[-1]})" if ours else ""


def _tell_version(ctx: click.Context, param: click.Parameter, given: bool) -> None:
    if given and not ctx.resilient_parsing:
        click.echo(f"shoal {shoal.__version__}")
        ctx.exit()


EPILOG = """\b
Examples:
  shoal demo
  shoal profile visits.csv
  shoal assess visits.csv --policy visits.policy.toml
  shoal protect visits.csv --policy visits.policy.toml -o out
  shoal verify out

Exit codes: 0 done; 2 the input or the policy is wrong; 3 privacy cannot be met or is not met. With 2 and 3 nothing
is written.
"""


@click.group(cls=LazyGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_tell_version,
              help="Show the version and exit.")  # fmt: skip
def cli() -> None:
    """Publish person-level data so that nobody in it can be singled out.

    Also when a person has many records. What is published is counted again, record by record, and written only if it
    keeps every promise you asked for.
    """


def main() -> None:
    """The entry point of the command line."""
    start_quickly()
    cli(prog_name="shoal")


if __name__ == "__main__":
    main()
