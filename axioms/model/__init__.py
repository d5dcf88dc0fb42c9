"""The model as every method sees it: its inputs, the target that is explained, and what removing a feature means."""
