"""Stage 4: what decides whether a release may leave: what is seen in it, counted, and judged."""
