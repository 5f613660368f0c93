"""Document and its parts under the module name that Haystack uses: `from karat.dataclasses import Document`."""

from karat.documents.attachments import ByteStream, SparseEmbedding
from karat.documents.document import Document

__all__ = ["ByteStream", "Document", "SparseEmbedding"]
