"""The mean curve of many records: plans around it, its estimators and what they publish."""
