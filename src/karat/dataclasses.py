"""Document and its parts under the module name that Haystack uses: `from karat.dataclasses import Document`."""

from karat.documents.byte_stream import ByteStream
from karat.documents.document import Document
from karat.documents.sparse_embedding import SparseEmbedding

__all__ = ["ByteStream", "Document", "SparseEmbedding"]
