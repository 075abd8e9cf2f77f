"""Modal: a cloud sandbox per environment, through the modal SDK."""

from shellward.environments.modal.backend import attach, create, doctor, list_environments, remove

__all__ = ["attach", "create", "doctor", "list_environments", "remove"]
