"""Stage 7: what a steward shows a review board, and what may leave with the data."""
