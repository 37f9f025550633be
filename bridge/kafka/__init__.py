"""Kafka adapters: transactional publisher, cursor store, topics, and the triage of their errors."""
