"""Widgets that any page may use: buttons, fields, tables, sheets."""
