"""Shells and what belongs to them in the admin: a module for each subject."""

from shells.admin import contents, history, imports, shells, standalone

__all__ = ["contents", "history", "imports", "shells", "standalone"]
