"""Where a model holds what rewrites look for: attention, MLPs, norms, layers in a row. Names are known here only."""
