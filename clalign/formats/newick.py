"""Trees as text (Newick)."""

from __future__ import annotations

import re
from typing import TextIO

from clalign.values.trees import Tree

_PLAIN = re.compile(r"[^\s()\[\]{},:;'\"]+")


def write_newick(tree: Tree, stream: TextIO) -> None:
    """Write a tree with the lengths of its branches; names with special characters stand in quotation marks."""
    children, root = tree.children(), tree.root
    stack: list[int | str] = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            stream.write(node)
            continue
        length = "" if node == root else f":{tree.lengths[node]:.6g}"
        if node < len(tree.names):
            stream.write(quoted_name(tree.names[node]) + length)
            continue
        stream.write("(")
        stack.append(f"){length}")
        for place, child in enumerate(reversed(children[node])):
            stack += [",", child] if place else [child]
    stream.write(";\n")


def quoted_name(name: str) -> str:
    """Return a name as Newick takes it."""
    return name if _PLAIN.fullmatch(name) else "'" + name.replace("'", "''") + "'"
