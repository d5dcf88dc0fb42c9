"""From a check to its result: build the subject, attribute, measure, judge, cache."""
