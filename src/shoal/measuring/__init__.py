"""Stage 4: numbers about a table or a release."""
