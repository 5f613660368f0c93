"""Where programs for Haystack look for Document."""

from karat.documents.document import Document

__all__ = ["Document"]
