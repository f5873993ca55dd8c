"""Stage 5: what a release cost and what it is good for; tuning."""
