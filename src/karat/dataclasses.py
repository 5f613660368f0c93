"""Document under the module name that Haystack uses: `from karat.dataclasses import Document`."""

from karat.documents.document import Document

__all__ = ["Document"]
