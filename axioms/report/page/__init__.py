"""A run as its page shows it: the headline, the scorecard, the matrix and the specs, ready for the template."""
