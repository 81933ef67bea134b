"""Tenants, modules, trusted issuers and people in the admin: a module for each subject."""

from tenants.admin import people, tenants

__all__ = ["people", "tenants"]
