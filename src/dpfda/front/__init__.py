"""What people meet: the command and the reports."""
