"""Tables to try shoal on: the printed example of the paper, and made-up ones from a seed. No real data."""
