"""What one method is worth, on one page."""
