"""Pure mapping from journal rows to Kafka records: names, headers, sizes."""
