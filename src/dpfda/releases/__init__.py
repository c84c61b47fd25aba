"""What is published: released functions of every kind; all of it is public."""
