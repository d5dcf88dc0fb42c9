"""`axioms plan`: what a run would cost, before anything is spent."""
