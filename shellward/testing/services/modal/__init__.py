"""A loopback Modal: the gRPC services that the ``modal`` SDK speaks, with real commands in isolated sandboxes.

``ModalService`` (client.py) starts it, as a program of its own, and looks at it; ``python -m
shellward.testing.services.modal`` is that program.
"""

from shellward.testing.services.modal.client import ModalService

__all__ = ["ModalService"]
