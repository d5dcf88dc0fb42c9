"""The search for the smallest expression on which a method tells two groupings apart."""
