"""Tenants, modules, trusted issuers and people in the admin: a module for each subject."""

from tenants.admin import issuers, modules, people, tenants

__all__ = ["issuers", "modules", "people", "tenants"]
