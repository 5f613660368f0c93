"""Components that prepare documents before they are compared."""

from karat.components.preprocessors.document_cleaner import DocumentCleaner

__all__ = ["DocumentCleaner"]
