"""What documents go through before they are compared."""

from karat.components.preprocessors.document_cleaner import DocumentCleaner

__all__ = ["DocumentCleaner"]
