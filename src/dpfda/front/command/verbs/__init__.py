"""One file a verb, found by scan: a module that holds a `Verb` as ``VERB``."""
