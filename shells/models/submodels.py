"""The submodel registry: submodels that are registered on their own."""

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from shells.models.indexes import text_hash
from shells.querysets import TenantQuerySet
from tenants.models import Tenant


class StandaloneSubmodel(models.Model):
    """A submodel descriptor of the submodel registry: registered on its own, not below a shell."""

    tenant = models.ForeignKey(
        Tenant,
        models.PROTECT,
        db_index=False,
        verbose_name=_("tenant"),
        help_text=_("To whom the descriptor belongs."),
    )
    identifier = models.TextField(
        _("identifier"), help_text=_("The id of the submodel, unique in its tenant.")
    )
    digest = models.UUIDField(editable=False, help_text="128-bit digest of the identifier, for the index.")
    document = models.TextField(
        _("document"), help_text=_("The descriptor as the API returns it: compact JSON.")
    )
    id_short = models.TextField("idShort", null=True, help_text=_("Short name."))
    semantic_id = models.TextField(
        _("semantic id"), null=True, help_text=_("What it means: the first key of its semanticId.")
    )
    semantic_reference = models.JSONField(
        _("semantic reference"),
        null=True,
        help_text=_("Its semanticId, unless that is one GlobalReference key of an external reference."),
    )
    created_at = models.DateTimeField(
        _("created at"), db_default=Now(), help_text=_("When it was registered.")
    )
    updated_at = models.DateTimeField(
        _("updated at"), db_default=Now(), help_text=_("When it was last registered or changed.")
    )

    objects = TenantQuerySet["StandaloneSubmodel"].as_manager()

    class Meta:
        verbose_name = _("standalone submodel")
        verbose_name_plural = _("standalone submodels")
        constraints = [
            models.UniqueConstraint(
                fields=["digest", "tenant"], name="standalone_submodel_identifier_is_unique_in_tenant"
            ),
            models.UniqueConstraint(fields=["tenant", "id"], name="standalone_submodel_tenant_id"),
        ]
        indexes = [
            models.Index("tenant", text_hash("semantic_id"), "id", name="standalone_submodel_semantic"),
            models.Index(fields=["tenant", "created_at", "id"], name="standalone_submodel_created"),
            models.Index(fields=["tenant", "updated_at", "id"], name="standalone_submodel_updated"),
        ]

    def __str__(self) -> str:
        return self.identifier


class StandaloneEndpoint(models.Model):
    """Where a standalone submodel can be reached."""

    tenant = models.ForeignKey(
        Tenant,
        models.PROTECT,
        db_index=False,
        db_constraint=False,
        verbose_name=_("tenant"),
        help_text=_("To whom it belongs."),
    )
    submodel = models.ForeignKey(
        StandaloneSubmodel,
        models.DO_NOTHING,
        db_index=False,
        db_constraint=False,
        related_name="endpoints",
        verbose_name=_("submodel"),
        help_text=_("The submodel that it belongs to."),
    )
    position = models.IntegerField(_("position"), help_text=_("Its place in the list, from 0."))
    interface = models.TextField(
        _("interface"), null=True, help_text=_("What it speaks, such as SUBMODEL-3.1.")
    )
    href = models.TextField(_("href"), null=True, help_text=_("Its address, of any scheme."))

    objects = TenantQuerySet["StandaloneEndpoint"].as_manager()

    class Meta:
        verbose_name = _("standalone endpoint")
        verbose_name_plural = _("standalone endpoints")
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "submodel", "position"], name="standalone_endpoint_position_in_owner"
            )
        ]

    def __str__(self) -> str:
        return self.href or gettext("(no address)")
