"""From measured values to a verdict: intervals, tests, bounds."""
