"""Discovery: asset links that were set or deleted there."""

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from shells.querysets import TenantQuerySet
from tenants.models import Tenant


class AssetLinks(models.Model):
    """The asset links of a shell that were set or deleted through discovery.

    They stand in place of those of its descriptor, if it has one, until that is written again. No links at
    all say that they were deleted.
    """

    tenant = models.ForeignKey(
        Tenant,
        models.PROTECT,
        db_index=False,
        verbose_name=_("tenant"),
        help_text=_("To whom the links belong."),
    )
    identifier = models.TextField(_("identifier"), help_text=_("The id of the shell, registered or not."))
    digest = models.UUIDField(editable=False, help_text="128-bit digest of the identifier, for the index.")
    document = models.TextField(
        _("document"), help_text=_("The links as the API returns them: a JSON array.")
    )
    updated_at = models.DateTimeField(
        _("updated at"), db_default=Now(), help_text=_("When they were set or deleted.")
    )

    objects = TenantQuerySet["AssetLinks"].as_manager()

    class Meta:
        verbose_name = _("asset links")
        verbose_name_plural = _("asset links")
        constraints = [
            models.UniqueConstraint(fields=["digest", "tenant"], name="asset_links_are_unique_in_tenant"),
            models.UniqueConstraint(fields=["tenant", "id"], name="asset_links_tenant_id"),
        ]

    def __str__(self) -> str:
        return self.identifier


class AssetLink(models.Model):
    """One of the asset links of a shell that were set through discovery."""

    tenant = models.ForeignKey(
        Tenant, models.PROTECT, db_index=False, db_constraint=False, help_text="To whom it belongs."
    )
    links = models.ForeignKey(
        AssetLinks,
        models.DO_NOTHING,
        db_index=False,
        db_constraint=False,
        related_name="items",
        help_text="The links that it is one of.",
    )
    position = models.IntegerField(help_text="Its place in the list, from 0.")
    name = models.TextField(help_text="What kind of id; globalAssetId for the global asset id.")
    value = models.TextField(help_text="The id itself.")
    pair = models.BigIntegerField(
        editable=False, help_text="64-bit hash of tenant, name and value, for the index."
    )

    external_subject_id = models.TextField(null=True, help_text="For whom the link is; empty: for everybody.")
    external_subject_reference = models.JSONField(
        null=True,
        help_text="Its externalSubjectId, unless that is one GlobalReference key of an external reference.",
    )

    objects = TenantQuerySet["AssetLink"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "links", "position"], name="asset_link_position")
        ]
        indexes = [models.Index(fields=["pair", "links"], name="asset_link_pair")]

    def __str__(self) -> str:
        return f"{self.name}={self.value}"
