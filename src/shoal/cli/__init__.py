"""The door for the command line: one file a command."""
