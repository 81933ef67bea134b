"""What was done and is to be done: changes, bulk operations, imports."""

import uuid
from pathlib import Path

from django.contrib.postgres.indexes import BrinIndex
from django.core.validators import URLValidator
from django.db import models
from django.db.models import Func
from django.db.models.functions import Cast, Now
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from shells.models.indexes import text_hash
from shells.querysets import TenantQuerySet
from tenants.models import Tenant, Validation

#: The number of the running transaction, which never comes again in a database.
TRANSACTION = Cast(
    Cast(Func(function="pg_current_xact_id", output_field=models.TextField()), models.TextField()),
    models.BigIntegerField(),
)


class Change(models.Model):
    """A write of a descriptor: who did what, and what was there before."""

    class Action(models.TextChoices):
        """What was done."""

        REGISTERED = "registered", _("registered")
        REPLACED = "replaced", _("replaced")
        REMOVED = "removed", _("removed")

    tenant = models.ForeignKey(
        Tenant,
        models.CASCADE,
        db_index=False,
        verbose_name=_("tenant"),
        help_text=_("Whose descriptor it was."),
    )
    collection = models.CharField(
        _("collection"), max_length=32, help_text=_("shell-descriptors or submodel-descriptors.")
    )
    identifier = models.TextField(_("identifier"), help_text=_("The id of the descriptor."))
    digest = models.UUIDField(editable=False, help_text="128-bit digest of the identifier, for the index.")
    action = models.CharField(_("action"), max_length=10, choices=Action, help_text=_("What was done."))
    author = models.TextField(_("author"), help_text=_("The module, person or command that did it."))
    correlation_id = models.TextField(
        _("correlation id"), help_text=_("The request that did it, as in the log.")
    )
    at = models.DateTimeField(_("time"), db_default=Now(), help_text=_("When it was done."))
    before = models.TextField(
        _("before"), null=True, help_text=_("The descriptor that was there before, if there was one.")
    )
    transaction = models.BigIntegerField(
        db_default=TRANSACTION,
        editable=False,
        help_text="The transaction that did it; see shells/figures.py.",
    )

    objects = TenantQuerySet["Change"].as_manager()

    class Meta:
        verbose_name = _("change")
        verbose_name_plural = _("changes")
        indexes = [
            models.Index(fields=["tenant", "digest", "id"], name="change_descriptor"),
            BrinIndex(fields=["at"], name="change_at"),  # rows come in the order of time
            models.Index(fields=["tenant", "id"], name="change_tenant"),
            models.Index(fields=["tenant", "action", "id"], name="change_action"),
            models.Index("tenant", text_hash("author"), "id", name="change_author"),
            BrinIndex(fields=["transaction"], autosummarize=True, name="change_transaction"),
        ]

    def __str__(self) -> str:
        return gettext("{identifier} was {action}").format(
            identifier=self.identifier, action=self.get_action_display()
        )


class BulkOperation(models.Model):
    """What a client asked to be done with many descriptors at once, and what came of it."""

    class Verb(models.TextChoices):
        """What is to be done with each descriptor."""

        POST = "POST", _("register")
        PUT = "PUT", _("register or replace")
        DELETE = "DELETE", _("remove")

    class State(models.TextChoices):
        """The states of ExecutionState that occur here."""

        INITIATED = "Initiated", _("waiting or running")
        COMPLETED = "Completed", _("done")
        FAILED = "Failed", _("nothing was changed")

    tenant = models.ForeignKey(
        Tenant, models.CASCADE, db_index=False, verbose_name=_("tenant"), help_text=_("For whom it is done.")
    )
    handle = models.UUIDField(
        _("handle"), default=uuid.uuid4, editable=False, help_text=_("Its public name.")
    )
    verb = models.CharField(_("verb"), max_length=6, choices=Verb, help_text=_("What is to be done."))
    collection = models.CharField(
        _("collection"), max_length=32, help_text=_("shell-descriptors or submodel-descriptors.")
    )
    author = models.TextField(_("author"), default="", help_text=_("The module that asked for it."))
    correlation_id = models.TextField(
        _("correlation id"), default="", help_text=_("The request that asked for it, as in the log.")
    )
    body = models.BinaryField(
        _("body"), help_text=_("The JSON array that the client sent; emptied when it is done.")
    )
    state = models.CharField(
        _("state"), max_length=9, choices=State, default=State.INITIATED, help_text=_("How far it is.")
    )
    defects = models.JSONField(
        _("defects"), default=list, help_text=_("Why it failed: one text for each defect.")
    )
    created_at = models.DateTimeField(
        _("created at"), db_default=Now(), help_text=_("When it was asked for.")
    )
    finished_at = models.DateTimeField(
        _("finished at"), null=True, help_text=_("When it was done or failed.")
    )

    objects = TenantQuerySet["BulkOperation"].as_manager()

    class Meta:
        verbose_name = _("bulk operation")
        verbose_name_plural = _("bulk operations")
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

    tenant = models.ForeignKey(
        Tenant, models.CASCADE, db_index=False, verbose_name=_("tenant"), help_text=_("For whom it imports.")
    )
    key = models.UUIDField(editable=False, help_text="Digest of the names of what is imported.")
    sources = models.JSONField(_("sources"), help_text=_("The names of what is imported."))
    state = models.TextField(
        _("state"), help_text=_("Digest of names, sizes and times of change of the files.")
    )
    part = models.IntegerField(_("files done"), default=0, help_text=_("How many files are done."))
    item = models.BigIntegerField(
        _("items of the next file"), default=0, help_text=_("How many items of the next file are done.")
    )
    counts = models.JSONField(
        _("counts"), default=dict, help_text=_("What became of the items that are done.")
    )
    report_size = models.BigIntegerField(
        _("report size"), default=0, help_text=_("The bytes of the report on them.")
    )
    started_at = models.DateTimeField(_("started at"), db_default=Now(), help_text=_("When it began."))
    updated_at = models.DateTimeField(
        _("updated at"), db_default=Now(), help_text=_("When its last batch was written.")
    )
    finished_at = models.DateTimeField(
        _("finished at"), null=True, help_text=_("When all was done; empty: it can be resumed.")
    )

    objects = TenantQuerySet["ImportRun"].as_manager()

    class Meta:
        verbose_name = _("import run")
        verbose_name_plural = _("import runs")
        constraints = [
            models.UniqueConstraint(fields=["key", "tenant"], name="import_run_is_unique_in_tenant"),
        ]

    def __str__(self) -> str:
        return ", ".join(self.sources)


class Upload(models.Model):
    """A file that somebody imports in the admin: it is checked first, and then imported if it is to be."""

    class State(models.TextChoices):
        """How far it is. What is being checked or imported may also be waiting for its turn."""

        CHECKING = "checking", _("being checked")
        CHECKED = "checked", _("checked; nothing was written yet")
        IMPORTING = "importing", _("being imported")
        IMPORTED = "imported", _("imported")
        STOPPED = "stopped", _("stopped")
        FAILED = "failed", _("failed")

    class OnConflict(models.TextChoices):
        """What becomes of a shell whose id is registered already (services.OnConflict)."""

        FAIL = "fail", _("reject it")
        SKIP = "skip", _("leave the registered one as it is")
        REPLACE = "replace", _("replace the registered one")

    tenant = models.ForeignKey(
        Tenant,
        models.CASCADE,
        db_index=False,
        verbose_name=_("tenant"),
        help_text=_("Who gets what is in the file."),
    )
    name = models.TextField(_("name"), editable=False, help_text=_("What the file was called."))
    file = models.FileField(
        _("file"),
        upload_to="imports/%Y/%m",
        max_length=500,
        help_text=_(
            "JSON Lines, a JSON array, a page of an API, an AAS environment (JSON, XML) or an AASX package; "
            "JSON and XML also packed with gzip or zstd."
        ),
    )
    validation = models.CharField(
        _("validation"),
        max_length=7,
        choices=Validation,
        blank=True,
        help_text=_("How strictly to check; empty: as the tenant says."),
    )
    on_conflict = models.CharField(
        _("if a shell is registered already"),
        max_length=7,
        choices=OnConflict,
        default=OnConflict.FAIL,
        help_text=_("What becomes of a shell in the file whose id the tenant has."),
    )
    atomic = models.BooleanField(
        _("all or nothing"),
        default=False,
        help_text=_("Import nothing unless everything can be taken; otherwise what is rejected is left out."),
    )
    endpoint_base = models.CharField(
        _("address of the repository"),
        max_length=2000,
        blank=True,
        validators=[URLValidator(["http", "https"])],
        help_text=_(
            "Shells and submodels of AAS environments and AASX packages get endpoints below this address."
        ),
    )
    author = models.TextField(_("author"), editable=False, help_text=_("Who sent it."))
    state = models.CharField(
        _("state"),
        max_length=9,
        choices=State,
        default=State.CHECKING,
        editable=False,
        help_text=_("How far it is."),
    )
    attempts = models.IntegerField(
        _("attempts"), default=0, editable=False, help_text=_("How often it was begun.")
    )
    stop = models.BooleanField(
        _("stop"), default=False, editable=False, help_text=_("Somebody asked to stop it.")
    )
    counts = models.JSONField(
        _("counts"), default=dict, editable=False, help_text=_("What became of its items.")
    )
    size = models.BigIntegerField(_("size"), default=0, editable=False, help_text=_("The bytes of the file."))
    read = models.BigIntegerField(
        _("read"), default=0, editable=False, help_text=_("How many of them were read.")
    )
    problem = models.TextField(_("problem"), blank=True, editable=False, help_text=_("Why it failed."))
    created_at = models.DateTimeField(
        _("created at"), db_default=Now(), editable=False, help_text=_("When it was sent.")
    )
    finished_at = models.DateTimeField(
        _("finished at"), null=True, editable=False, help_text=_("When it was last checked or imported.")
    )

    objects = TenantQuerySet["Upload"].as_manager()

    class Meta:
        verbose_name = _("import")
        verbose_name_plural = _("imports")
        constraints = [
            models.CheckConstraint(
                condition=models.Q(
                    state__in=["checking", "checked", "importing", "imported", "stopped", "failed"]
                ),
                name="upload_state_is_known",
            )
        ]
        indexes = [
            models.Index(fields=["tenant", "id"], name="upload_tenant"),
            models.Index(fields=["id"], condition=models.Q(finished_at=None), name="upload_waiting"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_finished(self) -> bool:
        return self.finished_at is not None

    @property
    def report_path(self) -> Path:
        """Where its report is: JSON Lines, one for each rejected item."""
        return Path(self.file.path + ".rejected.jsonl")
