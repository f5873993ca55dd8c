"""The engine for tables that fit into memory; every method, mask and model is offered here."""
