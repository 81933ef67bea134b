"""Shells, and what is found in their documents."""

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from shells.models.indexes import beginning, host_hash, text_hash
from shells.querysets import ShellQuerySet, TenantQuerySet
from tenants.models import Tenant


class Shell(models.Model):
    """An Asset Administration Shell descriptor."""

    tenant = models.ForeignKey(
        Tenant,
        models.PROTECT,
        db_index=False,
        verbose_name=_("tenant"),
        help_text=_("To whom the descriptor belongs."),
    )
    identifier = models.TextField(_("identifier"), help_text=_("The id of the shell, unique in its tenant."))
    digest = models.UUIDField(editable=False, help_text="128-bit digest of the identifier, for the index.")
    document = models.TextField(
        _("document"), help_text=_("The descriptor as the API returns it: compact JSON.")
    )
    id_short = models.TextField("idShort", null=True, help_text=_("Short name."))
    asset_kind = models.TextField(
        _("asset kind"), null=True, help_text=_("Instance, Type, Role or NotApplicable.")
    )
    asset_type = models.TextField(
        _("asset type"), null=True, help_text=_("Identifier of the type of the asset.")
    )
    global_asset_id = models.TextField(
        _("global asset id"), null=True, help_text=_("Identifier of the asset.")
    )
    created_at = models.DateTimeField(
        _("created at"), db_default=Now(), help_text=_("When it was registered.")
    )
    updated_at = models.DateTimeField(
        _("updated at"), db_default=Now(), help_text=_("When it was last registered or changed.")
    )

    objects = ShellQuerySet.as_manager()

    class Meta:
        verbose_name = _("shell")
        verbose_name_plural = _("shells")
        constraints = [
            models.UniqueConstraint(fields=["digest", "tenant"], name="shell_identifier_is_unique_in_tenant"),
            models.UniqueConstraint(fields=["tenant", "id"], name="shell_tenant_id"),
        ]
        indexes = [  # each ends with the id, by which lists are ordered
            models.Index(fields=["tenant", "asset_kind", "id"], name="shell_asset_kind"),
            models.Index("tenant", text_hash("asset_type"), "id", name="shell_asset_type"),
            models.Index("tenant", text_hash("global_asset_id"), "id", name="shell_global_asset_id"),
            models.Index(fields=["tenant", "created_at", "id"], name="shell_created_at"),
            models.Index(fields=["tenant", "updated_at", "id"], name="shell_updated_at"),
            models.Index("tenant", beginning("id_short"), "id", name="shell_id_short"),
        ]

    def __str__(self) -> str:
        return self.identifier


class Submodel(models.Model):
    """A submodel descriptor inside a shell descriptor."""

    tenant = models.ForeignKey(
        Tenant,
        models.PROTECT,
        db_index=False,
        db_constraint=False,
        verbose_name=_("tenant"),
        help_text=_("To whom it belongs."),
    )
    shell = models.ForeignKey(
        Shell,
        models.DO_NOTHING,
        db_index=False,
        db_constraint=False,
        related_name="submodels",
        verbose_name=_("shell"),
        help_text=_("The shell that lists it."),
    )
    position = models.IntegerField(_("position"), help_text=_("Its place in the list, from 0."))
    identifier = models.TextField(
        _("identifier"), help_text=_("The id of the submodel, unique in its shell.")
    )
    digest = models.UUIDField(
        editable=False,
        db_index=True,
        help_text="128-bit digest of the identifier, for the index.",
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

    objects = TenantQuerySet["Submodel"].as_manager()

    class Meta:
        verbose_name = _("submodel")
        verbose_name_plural = _("submodels")
        constraints = [
            models.UniqueConstraint(fields=["tenant", "shell", "position"], name="submodel_position_in_shell")
        ]
        indexes = [models.Index("tenant", text_hash("semantic_id"), "shell", name="submodel_semantic_id")]

    def __str__(self) -> str:
        return self.identifier


class Endpoint(models.Model):
    """Where a shell or one of its submodels can be reached."""

    tenant = models.ForeignKey(
        Tenant,
        models.PROTECT,
        db_index=False,
        db_constraint=False,
        verbose_name=_("tenant"),
        help_text=_("To whom it belongs."),
    )
    shell = models.ForeignKey(
        Shell,
        models.DO_NOTHING,
        db_index=False,
        db_constraint=False,
        related_name="endpoints",
        verbose_name=_("shell"),
        help_text=_("The shell that it belongs to, directly or through a submodel."),
    )
    submodel_position = models.IntegerField(
        _("submodel position"),
        null=True,
        help_text=_("The submodel that it belongs to, by its place; empty: the shell itself."),
    )
    position = models.IntegerField(_("position"), help_text=_("Its place in the list, from 0."))
    interface = models.TextField(_("interface"), null=True, help_text=_("What it speaks, such as AAS-3.1."))
    href = models.TextField(_("href"), null=True, help_text=_("Its address, of any scheme."))

    objects = TenantQuerySet["Endpoint"].as_manager()

    class Meta:
        verbose_name = _("endpoint")
        verbose_name_plural = _("endpoints")
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "shell", "submodel_position", "position"],
                name="endpoint_position_in_owner",
            )
        ]
        indexes = [models.Index("tenant", host_hash("href"), "shell", name="endpoint_host")]

    def __str__(self) -> str:
        return self.href or gettext("(no address)")


class AssetId(models.Model):
    """A specific asset id of a shell: one name and value under which its asset is known."""

    tenant = models.ForeignKey(
        Tenant,
        models.PROTECT,
        db_index=False,
        db_constraint=False,
        verbose_name=_("tenant"),
        help_text=_("To whom it belongs."),
    )
    shell = models.ForeignKey(
        Shell,
        models.DO_NOTHING,
        db_index=False,
        db_constraint=False,
        related_name="asset_ids",
        verbose_name=_("shell"),
        help_text=_("The shell that is found by it."),
    )
    position = models.IntegerField(_("position"), help_text=_("Its place in the list, from 0."))
    name = models.TextField(_("name"), help_text=_("What kind of id, such as serialNumber."))
    value = models.TextField(_("value"), help_text=_("The id itself."))
    pair = models.BigIntegerField(
        editable=False, help_text="64-bit hash of tenant, name and value, for the index."
    )
    external_subject_id = models.TextField(
        _("external subject id"), null=True, help_text=_("For whom the id is; empty: for everybody.")
    )
    external_subject_reference = models.JSONField(
        _("external subject reference"),
        null=True,
        help_text=_(
            "Its externalSubjectId, unless that is one GlobalReference key of an external reference."
        ),
    )

    objects = TenantQuerySet["AssetId"].as_manager()

    class Meta:
        verbose_name_plural = _("asset ids")
        verbose_name = _("asset id")
        constraints = [
            models.UniqueConstraint(fields=["tenant", "shell", "position"], name="asset_id_position_in_shell")
        ]
        indexes = [models.Index(fields=["pair", "shell"], name="asset_id_pair")]

    def __str__(self) -> str:
        return f"{self.name}={self.value}"
