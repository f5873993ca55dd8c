"""The door for the command line: one file per command."""
