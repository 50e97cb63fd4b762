"""Stands in for pip where a test says so: it looks into one folder, and notes each time it was asked."""
