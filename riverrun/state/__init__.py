"""Keyed and operator state: key groups, backends, snapshots, TTL, rescaling of handles."""
