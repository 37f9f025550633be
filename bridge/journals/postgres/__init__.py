"""PostgreSQL journals."""
