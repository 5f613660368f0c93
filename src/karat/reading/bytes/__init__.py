"""Files as bytes: on disk, as a pipe, an open file or a remote one, decompressed; what a file is.

What a file is follows from its first bytes, and from its name.
"""
