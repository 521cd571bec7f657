"""Papers run again: their figures, and a verdict on every claim. Not part of the product, which never imports it."""
