"""Bridges to other libraries, each the sole user of one."""
