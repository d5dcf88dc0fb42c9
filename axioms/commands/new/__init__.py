"""A working, commented starting point for a spec or a method."""
