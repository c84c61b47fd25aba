"""The desk: a page on this machine that leads from a file to a signed report, for every verb."""
