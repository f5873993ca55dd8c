"""The table: schema, coded columns, hierarchies, what can be seen in it."""
