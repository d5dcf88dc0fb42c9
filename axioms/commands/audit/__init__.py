"""An audit of someone's own model: every method on every rewrite that applies, with no YAML."""
