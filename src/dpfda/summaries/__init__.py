"""Summaries of private data, as scikit-learn estimators or functions; none of them draws noise."""
