"""How many shells a tenant may have."""

from django.db import models
from django.db.models import F

from tenants.models import Tenant


class Quota(models.Model):
    """How many shells a tenant may have, and has; a tenant without a row may have any number.

    Each statement that registers or removes shells also counts them here, and fails if they are too many.
    """

    tenant = models.OneToOneField(
        Tenant, models.CASCADE, primary_key=True, help_text="Whose shells are counted."
    )
    max_shells = models.BigIntegerField(help_text="How many the tenant may have.")
    shells = models.BigIntegerField(help_text="How many it has.")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(shells__gte=0, shells__lte=F("max_shells")), name="quota_is_kept"
            )
        ]

    def __str__(self) -> str:
        return f"{self.shells} of {self.max_shells}"
