"""Reference bands: within which nine of ten new people's whole curves lie."""
