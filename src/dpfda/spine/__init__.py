"""The one way of every sum: read, embed, bound, add up, in memory, blocks, streams and clusters."""
