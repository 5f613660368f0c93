"""Documents of any framework: their id, text and fields, what they are matched by, and their words."""
