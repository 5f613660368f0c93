"""Files as bytes: on disk, as a pipe, an open file or a remote one, decompressed; what a file is by its first bytes."""
