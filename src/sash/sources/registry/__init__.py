"""A schema registry, as Confluent's and those that speak like it: which schema a message is written in."""
