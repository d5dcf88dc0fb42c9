"""The engine: rules belong to operations, not to model classes."""
