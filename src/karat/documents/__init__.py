"""Documents of any framework: their ids and fields, the keys they are matched by, normalization, and words."""
