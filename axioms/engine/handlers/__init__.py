"""Handlers of what the mode sees: rules, ledger, taps, switches, gates, observation and blocks."""
