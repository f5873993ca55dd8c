"""Trying shoal with input that nobody would write on purpose: tables, files, requests."""
