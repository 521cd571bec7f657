"""Messages in Avro."""
