"""Shells and what belongs to them in the admin: a module for each subject."""

from shells.admin import contents, dashboard, history, imports, shells, standalone, try_it

__all__ = ["contents", "dashboard", "history", "imports", "shells", "standalone", "try_it"]
