"""A curve a month: each month's mean and the mean of all months so far, at one price for all."""
