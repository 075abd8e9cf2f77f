"""Singularity: an instance of Apptainer or SingularityCE per environment, driven through its own binary."""

from shellward.environments.singularity.backend import attach, create, doctor, list_environments, remove

__all__ = ["attach", "create", "doctor", "list_environments", "remove"]
