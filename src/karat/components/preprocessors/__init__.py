"""What documents go through before they are compared."""
