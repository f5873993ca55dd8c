"""Stage 7: the files that leave the house, and those that stay."""
