"""Devices that each compute in a process of their own, since the host has as much to do for them as they have.

Threads of one Python process take turns; where hits are made on the host, several cards would wait for each other.
"""
