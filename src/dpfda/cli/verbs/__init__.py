"""One file a verb, found by scan: a module that holds a `dpfda.cli.declared.Verb` as ``VERB``."""
