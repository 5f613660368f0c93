"""Where programs for Haystack look for Document."""

from karat.document import Document

__all__ = ["Document"]
