"""Loopback services that speak the protocols of the clouds, for tests without one."""
