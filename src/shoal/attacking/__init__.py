"""Stage 5: what an adversary gets, always next to blind guessing."""
