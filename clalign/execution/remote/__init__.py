"""Devices that compute in a process each, for engines that work much on the host beside them.

Threads of one Python process take turns: several cards would wait for each other.
"""
