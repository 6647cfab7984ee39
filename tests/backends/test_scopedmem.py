from __future__ import annotations

from readmit.backends.conformance import BackendConformance
from tests.backends.openers import open_scopedmem, open_scopedmem_with_embedder


class TestScopedMem(BackendConformance):
    opener = staticmethod(open_scopedmem)


class TestScopedMemWithEmbedder(BackendConformance):
    opener = staticmethod(open_scopedmem_with_embedder)
