"""Which image a sandbox is made from, in the SDK's words."""

import re
from typing import Any

from shellward.environments.modal.config import ModalConfig
from shellward.environments.modal.sdk import sdk


def image_of(settings: ModalConfig, client: Any) -> Any:
    """Say which image is meant. Nothing is asked or built yet, but of an id."""
    modal = sdk()
    if re.fullmatch(r"im-[A-Za-z0-9]+", settings.image):
        image = modal.Image.from_id(settings.image, client=client)
    elif settings.image == "debian_slim":
        image = modal.Image.debian_slim(settings.python_version)
    else:
        secret = modal.Secret.from_name(settings.registry_secret) if settings.registry_secret else None
        image = modal.Image.from_registry(settings.image, secret=secret)
    if settings.apt_packages:
        image = image.apt_install(*settings.apt_packages)
    if settings.pip_packages:
        image = image.pip_install(*settings.pip_packages)
    return image
