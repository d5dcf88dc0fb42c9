"""What several axioms need: the views that they get, and how they rank, correlate, remove and add up."""
