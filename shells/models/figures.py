"""What is kept of numbers, so that nobody has to count a million rows. Only `shells/figures.py` writes these tables."""

from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Coalesce, Now

from tenants.models import Tenant


class FigureState(models.Model):
    """How far changes are folded into the figures: one row."""

    transaction = models.BigIntegerField(
        default=0, help_text="The changes of all transactions before this one are in; 0: count anew."
    )
    folded_at = models.DateTimeField(db_default=Now(), help_text="When that was.")
    changed_at = models.DateTimeField(db_default=Now(), help_text="When there was something to fold in.")
    counted_at = models.DateTimeField(null=True, help_text="When submodels were counted.")
    counting_seconds = models.FloatField(default=0, help_text="How long that took.")

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="figure_state_is_one_row")]

    def __str__(self) -> str:
        return f"as of {self.folded_at:%Y-%m-%d %H:%M:%S}"


class Total(models.Model):
    """How many descriptors a tenant has."""

    tenant = models.ForeignKey(Tenant, models.CASCADE, db_index=False, help_text="Whose they are.")
    collection = models.CharField(
        max_length=32, help_text="shell-descriptors, submodel-descriptors, or submodels: those inside shells."
    )
    descriptors = models.BigIntegerField(help_text="How many there are.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant", "collection"], name="total_is_unique")]

    def __str__(self) -> str:
        return f"{self.descriptors} {self.collection}"


class DailyFigure(models.Model):
    """What was done with the descriptors of a tenant on a day (UTC)."""

    tenant = models.ForeignKey(Tenant, models.CASCADE, db_index=False, help_text="Whose they are.")
    collection = models.CharField(max_length=32, help_text="shell-descriptors or submodel-descriptors.")
    day = models.DateField(help_text="The day, in UTC.")
    registered = models.BigIntegerField(help_text="How many were registered.")
    replaced = models.BigIntegerField(help_text="How many were replaced.")
    removed = models.BigIntegerField(help_text="How many were removed.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["day", "tenant", "collection"], name="daily_figure_is_unique")
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.collection}"


class SemanticIdFigure(models.Model):
    """How many submodels of a tenant have one of the most frequent semantic ids."""

    tenant = models.ForeignKey(Tenant, models.CASCADE, help_text="Whose they are.")
    semantic_id = models.TextField(help_text="The first key of their semanticId.")
    submodels = models.BigIntegerField(help_text="How many there are, inside shells and on their own.")

    def __str__(self) -> str:
        return self.semantic_id


class RefusedRequests(models.Model):
    """How many calls of the API were refused on a day (UTC), with which status."""

    tenant = models.ForeignKey(
        Tenant, models.CASCADE, null=True, db_index=False, help_text="The tenant of the address; empty: none."
    )
    day = models.DateField(help_text="The day, in UTC.")
    status = models.SmallIntegerField(help_text="The status of the answers.")
    requests = models.BigIntegerField(help_text="How many there were.")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                F("day"), Coalesce(F("tenant_id"), Value(0)), F("status"), name="refused_requests_are_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.status}"


class SlowRequest(models.Model):
    """A call of the API that took long; the log has more of it."""

    tenant = models.ForeignKey(
        Tenant, models.CASCADE, null=True, db_index=False, help_text="The tenant of the address; empty: none."
    )
    at = models.DateTimeField(help_text="When it was answered.")
    operation = models.TextField(help_text="What was asked for.")
    status = models.SmallIntegerField(help_text="The status of the answer.")
    milliseconds = models.IntegerField(help_text="How long it took.")
    correlation_id = models.TextField(help_text="The request, as in the log.")

    class Meta:
        indexes = [models.Index(fields=["-milliseconds"], name="slow_request_milliseconds")]

    def __str__(self) -> str:
        return f"{self.operation}: {self.milliseconds} ms"
