"""Signing in to the admin with a name and a password, as part of the form of `sign_in.py`.

It is not in `tenants/admin`, whose modules need the site that is made with this form.
"""

import math
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import ngettext
from unfold.forms import AuthenticationForm

from tenants import attempts


class PasswordForm(AuthenticationForm):  # type: ignore[misc]
    """Unfold's form; after too many failures of one person or address no password is looked at for a while."""

    def clean(self) -> dict[str, Any]:
        attempt = attempts.of_person(self.request, self.cleaned_data.get("username", ""))
        wait = attempt.wait()
        if wait is not None:
            minutes = math.ceil(wait / 60)
            text = ngettext(
                "Too many attempts to sign in failed. Try again in %(minutes)d minute.",
                "Too many attempts to sign in failed. Try again in %(minutes)d minutes.",
                minutes,
            )
            raise ValidationError(text % {"minutes": minutes}, code="too_many_failures")
        try:
            cleaned: dict[str, Any] = super().clean()
        except ValidationError:
            attempt.failed()
            raise
        return cleaned
