"""Descriptors, what is found in their documents, and what is asked to be done with many of them.

Only `shells/services.py` writes these tables. A descriptor is stored once, in `document`. Every other column
and table is a projection of it (`projections.py`), written in the same transaction.

Keys: `(tenant, id)` is what rows refer to, so that no row can point into another tenant and a join always
names the tenant. Django cannot declare those foreign keys; migrations have them. They remove the projections
of a descriptor with it.
"""

import uuid

from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import F, Func, Value
from django.db.models.functions import Now

from shells.querysets import ShellQuerySet, TenantQuerySet
from tenants.models import Tenant


def text_hash(column: str) -> Func:
    """64 bits that stand for a long text in an index; the text is compared as well."""
    return Func(F(column), Value(0), function="hashtextextended", output_field=models.BigIntegerField())


class Shell(models.Model):
    """An Asset Administration Shell descriptor."""

    tenant = models.ForeignKey(
        Tenant, models.PROTECT, db_index=False, help_text="To whom the descriptor belongs."
    )
    identifier = models.TextField(help_text="The id of the shell, unique in its tenant.")
    digest = models.UUIDField(editable=False, help_text="128-bit digest of the identifier, for the index.")
    document = models.TextField(help_text="The descriptor as the API returns it: compact JSON.")
    id_short = models.TextField("idShort", null=True, help_text="Short name.")
    asset_kind = models.TextField(null=True, help_text="Instance, Type, Role or NotApplicable.")
    asset_type = models.TextField(null=True, help_text="Identifier of the type of the asset.")
    global_asset_id = models.TextField(null=True, help_text="Identifier of the asset.")
    created_at = models.DateTimeField(db_default=Now(), help_text="When it was registered.")
    updated_at = models.DateTimeField(db_default=Now(), help_text="When it was last registered or changed.")

    objects = ShellQuerySet.as_manager()

    class Meta:
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
        ]

    def __str__(self) -> str:
        return self.identifier


class Submodel(models.Model):
    """A submodel descriptor inside a shell descriptor."""

    tenant = models.ForeignKey(
        Tenant, models.PROTECT, db_index=False, db_constraint=False, help_text="To whom it belongs."
    )
    shell = models.ForeignKey(
        Shell,
        models.DO_NOTHING,
        db_index=False,
        db_constraint=False,
        related_name="submodels",
        help_text="The shell that lists it.",
    )
    position = models.IntegerField(help_text="Its place in the list, from 0.")
    identifier = models.TextField(help_text="The id of the submodel, unique in its shell.")
    digest = models.UUIDField(
        editable=False, db_index=True, help_text="128-bit digest of the identifier, for the index."
    )
    id_short = models.TextField("idShort", null=True, help_text="Short name.")
    semantic_id = models.TextField(null=True, help_text="What it means: the first key of its semanticId.")
    semantic_reference = models.JSONField(
        null=True,
        help_text="Its semanticId, unless that is one GlobalReference key of an external reference.",
    )

    objects = TenantQuerySet["Submodel"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "shell", "position"], name="submodel_position_in_shell")
        ]
        indexes = [models.Index("tenant", text_hash("semantic_id"), "shell", name="submodel_semantic_id")]

    def __str__(self) -> str:
        return self.identifier


class Endpoint(models.Model):
    """Where a shell or one of its submodels can be reached."""

    tenant = models.ForeignKey(
        Tenant, models.PROTECT, db_index=False, db_constraint=False, help_text="To whom it belongs."
    )
    shell = models.ForeignKey(
        Shell,
        models.DO_NOTHING,
        db_index=False,
        db_constraint=False,
        related_name="endpoints",
        help_text="The shell that it belongs to, directly or through a submodel.",
    )
    submodel_position = models.IntegerField(
        null=True, help_text="The submodel that it belongs to, by its place; empty: the shell itself."
    )
    position = models.IntegerField(help_text="Its place in the list, from 0.")
    interface = models.TextField(null=True, help_text="What it speaks, such as AAS-3.1.")
    href = models.TextField(null=True, help_text="Its address, of any scheme.")

    objects = TenantQuerySet["Endpoint"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "shell", "submodel_position", "position"],
                name="endpoint_position_in_owner",
            )
        ]

    def __str__(self) -> str:
        return self.href or "(no address)"


class AssetId(models.Model):
    """A specific asset id of a shell: one name and value under which its asset is known."""

    tenant = models.ForeignKey(
        Tenant, models.PROTECT, db_index=False, db_constraint=False, help_text="To whom it belongs."
    )
    shell = models.ForeignKey(
        Shell,
        models.DO_NOTHING,
        db_index=False,
        db_constraint=False,
        related_name="asset_ids",
        help_text="The shell that is found by it.",
    )
    position = models.IntegerField(help_text="Its place in the list, from 0.")
    name = models.TextField(help_text="What kind of id, such as serialNumber.")
    value = models.TextField(help_text="The id itself.")
    pair = models.BigIntegerField(
        editable=False, help_text="64-bit hash of tenant, name and value, for the index."
    )
    external_subject_id = models.TextField(null=True, help_text="For whom the id is; empty: for everybody.")
    external_subject_reference = models.JSONField(
        null=True,
        help_text="Its externalSubjectId, unless that is one GlobalReference key of an external reference.",
    )

    objects = TenantQuerySet["AssetId"].as_manager()

    class Meta:
        verbose_name = "asset id"
        constraints = [
            models.UniqueConstraint(fields=["tenant", "shell", "position"], name="asset_id_position_in_shell")
        ]
        indexes = [models.Index(fields=["pair", "shell"], name="asset_id_pair")]

    def __str__(self) -> str:
        return f"{self.name}={self.value}"


class StandaloneSubmodel(models.Model):
    """A submodel descriptor of the submodel registry: registered on its own, not below a shell."""

    tenant = models.ForeignKey(
        Tenant, models.PROTECT, db_index=False, help_text="To whom the descriptor belongs."
    )
    identifier = models.TextField(help_text="The id of the submodel, unique in its tenant.")
    digest = models.UUIDField(editable=False, help_text="128-bit digest of the identifier, for the index.")
    document = models.TextField(help_text="The descriptor as the API returns it: compact JSON.")
    id_short = models.TextField("idShort", null=True, help_text="Short name.")
    semantic_id = models.TextField(null=True, help_text="What it means: the first key of its semanticId.")
    semantic_reference = models.JSONField(
        null=True,
        help_text="Its semanticId, unless that is one GlobalReference key of an external reference.",
    )
    created_at = models.DateTimeField(db_default=Now(), help_text="When it was registered.")
    updated_at = models.DateTimeField(db_default=Now(), help_text="When it was last registered or changed.")

    objects = TenantQuerySet["StandaloneSubmodel"].as_manager()

    class Meta:
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
        Tenant, models.PROTECT, db_index=False, db_constraint=False, help_text="To whom it belongs."
    )
    submodel = models.ForeignKey(
        StandaloneSubmodel,
        models.DO_NOTHING,
        db_index=False,
        db_constraint=False,
        related_name="endpoints",
        help_text="The submodel that it belongs to.",
    )
    position = models.IntegerField(help_text="Its place in the list, from 0.")
    interface = models.TextField(null=True, help_text="What it speaks, such as SUBMODEL-3.1.")
    href = models.TextField(null=True, help_text="Its address, of any scheme.")

    objects = TenantQuerySet["StandaloneEndpoint"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "submodel", "position"], name="standalone_endpoint_position_in_owner"
            )
        ]

    def __str__(self) -> str:
        return self.href or "(no address)"


class AssetLinks(models.Model):
    """The asset links of a shell that were set or deleted through discovery.

    They stand in place of those of its descriptor, if it has one, until that is written again. No links at
    all say that they were deleted.
    """

    tenant = models.ForeignKey(Tenant, models.PROTECT, db_index=False, help_text="To whom the links belong.")
    identifier = models.TextField(help_text="The id of the shell, registered or not.")
    digest = models.UUIDField(editable=False, help_text="128-bit digest of the identifier, for the index.")
    document = models.TextField(help_text="The links as the API returns them: a JSON array.")
    updated_at = models.DateTimeField(db_default=Now(), help_text="When they were set or deleted.")

    objects = TenantQuerySet["AssetLinks"].as_manager()

    class Meta:
        verbose_name_plural = "asset links"
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


class Change(models.Model):
    """A write of a descriptor: who did what, and what was there before."""

    class Action(models.TextChoices):
        """What was done."""

        REGISTERED = "registered", "registered"
        REPLACED = "replaced", "replaced"
        REMOVED = "removed", "removed"

    tenant = models.ForeignKey(Tenant, models.CASCADE, db_index=False, help_text="Whose descriptor it was.")
    collection = models.CharField(max_length=32, help_text="shell-descriptors or submodel-descriptors.")
    identifier = models.TextField(help_text="The id of the descriptor.")
    digest = models.UUIDField(editable=False, help_text="128-bit digest of the identifier, for the index.")
    action = models.CharField(max_length=10, choices=Action, help_text="What was done.")
    author = models.TextField(help_text="The module, person or command that did it.")
    correlation_id = models.TextField(help_text="The request that did it, as in the log.")
    at = models.DateTimeField(db_default=Now(), help_text="When it was done.")
    before = models.TextField(null=True, help_text="The descriptor that was there before, if there was one.")

    objects = TenantQuerySet["Change"].as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["tenant", "digest", "id"], name="change_descriptor"),
            BrinIndex(fields=["at"], name="change_at"),  # rows come in the order of time
        ]

    def __str__(self) -> str:
        return f"{self.identifier} was {self.action}"


class BulkOperation(models.Model):
    """What a client asked to be done with many descriptors at once, and what came of it."""

    class Verb(models.TextChoices):
        """What is to be done with each descriptor."""

        POST = "POST", "register"
        PUT = "PUT", "register or replace"
        DELETE = "DELETE", "remove"

    class State(models.TextChoices):
        """The states of ExecutionState that occur here."""

        INITIATED = "Initiated", "waiting or running"
        COMPLETED = "Completed", "done"
        FAILED = "Failed", "nothing was changed"

    tenant = models.ForeignKey(Tenant, models.CASCADE, db_index=False, help_text="For whom it is done.")
    handle = models.UUIDField(default=uuid.uuid4, editable=False, help_text="Its public name.")
    verb = models.CharField(max_length=6, choices=Verb, help_text="What is to be done.")
    collection = models.CharField(max_length=32, help_text="shell-descriptors or submodel-descriptors.")
    author = models.TextField(default="", help_text="The module that asked for it.")
    correlation_id = models.TextField(default="", help_text="The request that asked for it, as in the log.")
    body = models.BinaryField(help_text="The JSON array that the client sent; emptied when it is done.")
    state = models.CharField(max_length=9, choices=State, default=State.INITIATED, help_text="How far it is.")
    defects = models.JSONField(default=list, help_text="Why it failed: one text for each defect.")
    created_at = models.DateTimeField(db_default=Now(), help_text="When it was asked for.")
    finished_at = models.DateTimeField(null=True, help_text="When it was done or failed.")

    objects = TenantQuerySet["BulkOperation"].as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=["Initiated", "Completed", "Failed"]), name="bulk_state_is_known"
            ),
            models.UniqueConstraint(fields=["handle", "tenant"], name="bulk_handle_is_unique_in_tenant"),
        ]
        indexes = [
            models.Index(fields=["created_at"], condition=models.Q(finished_at=None), name="bulk_waiting"),
            models.Index(fields=["finished_at"], name="bulk_finished"),
        ]

    def __str__(self) -> str:
        return str(self.handle)


class ImportRun(models.Model):
    """An import of files, and how far it is: written with each batch, so that it can go on after a crash."""

    tenant = models.ForeignKey(Tenant, models.CASCADE, db_index=False, help_text="For whom it imports.")
    key = models.UUIDField(editable=False, help_text="Digest of the names of what is imported.")
    sources = models.JSONField(help_text="The names of what is imported.")
    state = models.TextField(help_text="Digest of names, sizes and times of change of the files.")
    part = models.IntegerField(default=0, help_text="How many files are done.")
    item = models.BigIntegerField(default=0, help_text="How many items of the next file are done.")
    counts = models.JSONField(default=dict, help_text="What became of the items that are done.")
    report_size = models.BigIntegerField(default=0, help_text="The bytes of the report on them.")
    started_at = models.DateTimeField(db_default=Now(), help_text="When it began.")
    updated_at = models.DateTimeField(db_default=Now(), help_text="When its last batch was written.")
    finished_at = models.DateTimeField(null=True, help_text="When all was done; empty: it can be resumed.")

    objects = TenantQuerySet["ImportRun"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["key", "tenant"], name="import_run_is_unique_in_tenant"),
        ]

    def __str__(self) -> str:
        return ", ".join(self.sources)


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
