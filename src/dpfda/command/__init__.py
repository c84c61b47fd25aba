"""What a verb of the command is made of: options, checks, reading, publishing, words."""
