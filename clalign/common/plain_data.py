"""The type of data that leave a process or are read from a file."""

from typing import Any

Json = dict[str, Any]
"""An object of JSON: values by the names of its fields, which are checked where it is read."""
