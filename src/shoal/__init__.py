"""shoal publishes person-level data so that nobody in it can be singled out."""
