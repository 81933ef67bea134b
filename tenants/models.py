"""Tenants, the modules and people that act for them, and the issuers they trust.

Only `tenants/services.py` writes these tables, and those of people the admin and `tenants/accounts.py`.
"""

import hmac
from datetime import datetime

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MinValueValidator, ProhibitNullCharactersValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from tenants import secrets


class Role(models.TextChoices):
    """What a module may do."""

    READER = "reader", _("reader: fetch, list, search")
    EDITOR = "editor", _("editor: also register, change, remove")
    ADMIN = "admin", _("admin: also look after the modules of its tenant")

    @property
    def short_label(self) -> str:
        """Its name for people, without what it may do."""
        return str(self.label).partition(":")[0]

    def includes(self, other: "Role") -> bool:
        """Whether this role may do all that `other` may: each role may what the ones above it may."""
        return self is other or other is Role.READER or self is Role.ADMIN


class Algorithm(models.TextChoices):
    """Signatures that a foreign issuer may make: with a private key only, never with a shared secret."""

    RS256 = "RS256"
    RS384 = "RS384"
    RS512 = "RS512"
    PS256 = "PS256"
    PS384 = "PS384"
    PS512 = "PS512"
    ES256 = "ES256"
    ES384 = "ES384"
    ES512 = "ES512"
    ED25519 = "Ed25519"
    EDDSA = "EdDSA"


class Validation(models.TextChoices):
    """How strictly descriptors are checked (aas-registry-api.md §2.5)."""

    LENIENT = "lenient", _("lenient: nested members may be missing or unknown")
    STRICT = "strict", _("strict: exactly the specification")

    @property
    def short_label(self) -> str:
        """Its name for people, without what it means."""
        return str(self.label).partition(":")[0]


class Tenant(models.Model):
    """A manufacturer or department whose shells are kept apart from all others."""

    id = models.AutoField(primary_key=True)
    identifier = models.CharField(
        _("tenant id"),
        max_length=64,
        unique=True,
        validators=[
            RegexValidator(
                r"\A[A-Za-z0-9][A-Za-z0-9._~-]*\Z",
                _(
                    "A tenant id has 1 to 64 letters, digits, dots, hyphens, underscores or tildes, "
                    "and starts with a letter or digit."
                ),
            )
        ],
        help_text=_("The {tenantId} of the API's addresses; it never changes."),
    )
    name = models.CharField(
        _("name"),
        max_length=200,
        blank=True,
        validators=[ProhibitNullCharactersValidator()],
        help_text=_("What people call the tenant."),
    )
    validation = models.CharField(
        _("validation"),
        max_length=7,
        choices=Validation,
        default=Validation.LENIENT,
        help_text=_("How strictly the tenant's descriptors are checked."),
    )
    asset_ids_by_subject = models.BooleanField(
        _("asset ids by subject"),
        default=False,
        help_text=_(
            "Readers see an asset id with an external subject only if it is theirs, or for everybody."
        ),
    )
    requests_per_minute = models.PositiveIntegerField(
        _("requests per minute"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=_("How many all its clients together may make; empty: any number."),
    )
    created_at = models.DateTimeField(
        _("created at"), default=timezone.now, editable=False, help_text=_("When it was created.")
    )

    class Meta:
        verbose_name = _("tenant")
        verbose_name_plural = _("tenants")
        ordering = ["identifier"]
        constraints = [
            models.CheckConstraint(
                condition=Q(validation__in=Validation.values), name="tenant_validation_is_known"
            ),
            models.CheckConstraint(condition=Q(requests_per_minute__gt=0), name="tenant_may_make_requests"),
        ]

    def __str__(self) -> str:
        return self.identifier


class ModuleState(models.TextChoices):
    """Whether a module gets tokens, and if not, why."""

    LIVE = "live", _("live")
    EXPIRED = "expired", _("expired")
    DISABLED = "disabled", _("disabled")


class ModuleQuerySet(models.QuerySet["Module"]):
    def of(self, tenant_identifier: str) -> "ModuleQuerySet":
        """The modules of one tenant, by its public id."""
        return self.filter(tenant__identifier=tenant_identifier)

    def live(self, now: datetime | None = None) -> "ModuleQuerySet":
        """The modules that may ask for tokens and use them: enabled and not expired."""
        now = now or timezone.now()
        return self.filter(Q(expires_at__isnull=True) | Q(expires_at__gt=now), enabled=True)


class Module(models.Model):
    """A client of one tenant: the credentials with which a program gets its tokens (contract §5.2)."""

    tenant = models.ForeignKey(
        Tenant,
        models.PROTECT,
        related_name="modules",
        verbose_name=_("tenant"),
        help_text=_("For whom it acts."),
    )
    name = models.CharField(
        _("name"),
        max_length=100,
        validators=[ProhibitNullCharactersValidator()],
        help_text=_("What it is called within its tenant."),
    )
    client_id = models.CharField(
        _("client id"), max_length=64, unique=True, help_text=_("The public half of its credentials.")
    )
    secret_digest = models.CharField(max_length=64, help_text="Keyed digest of the client secret.")
    previous_secret_digest = models.CharField(
        max_length=64,
        null=True,
        blank=True,
        help_text="Keyed digest of the secret before the last rotation.",
    )
    previous_secret_expires_at = models.DateTimeField(
        _("previous secret expires at"),
        null=True,
        blank=True,
        help_text=_("Until then the secret before the last rotation is taken as well."),
    )
    role = models.CharField(
        _("role"),
        max_length=6,
        choices=Role,
        default=Role.EDITOR,
        help_text=_("What its tokens allow it to do."),
    )
    subject = models.CharField(
        _("subject"),
        max_length=200,
        blank=True,
        validators=[ProhibitNullCharactersValidator()],
        help_text=_(
            "For whom it reads, such as a business partner number; see the tenant's asset ids by subject."
        ),
    )
    requests_per_minute = models.PositiveIntegerField(
        _("requests per minute"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=_("How many it may make; empty: as many as its tenant."),
    )
    enabled = models.BooleanField(
        _("enabled"), default=True, help_text=_("A disabled module is refused everywhere.")
    )
    expires_at = models.DateTimeField(
        _("expires at"),
        null=True,
        blank=True,
        help_text=_("From then on it is refused; empty: it does not expire."),
    )
    created_at = models.DateTimeField(
        _("created at"), default=timezone.now, editable=False, help_text=_("When it was added.")
    )
    last_used_at = models.DateTimeField(
        _("last used at"),
        null=True,
        blank=True,
        editable=False,
        help_text=_("When it last asked for a token or came with a new one, to the minute."),
    )

    objects = ModuleQuerySet.as_manager()

    class Meta:
        verbose_name = _("module")
        verbose_name_plural = _("modules")
        ordering = ["tenant", "name"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "name"], name="module_name_is_unique_in_tenant"),
            models.CheckConstraint(condition=Q(role__in=Role.values), name="module_role_is_known"),
            models.CheckConstraint(condition=Q(requests_per_minute__gt=0), name="module_may_make_requests"),
            models.CheckConstraint(
                condition=Q(previous_secret_digest__isnull=True, previous_secret_expires_at__isnull=True)
                | Q(previous_secret_digest__isnull=False, previous_secret_expires_at__isnull=False),
                name="module_previous_secret_has_an_end",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def has_secret(self, secret: str) -> bool:
        """Whether `secret` is the module's, or the one before it until its end; compared in constant time."""
        digest = secrets.digest(secret)
        is_current = hmac.compare_digest(self.secret_digest, digest)
        is_previous = hmac.compare_digest(self.previous_secret_digest or "", digest)
        until = self.previous_secret_expires_at
        return is_current or (is_previous and until is not None and timezone.now() < until)

    @property
    def role_label(self) -> str:
        """The short name of its role, for people."""
        return Role(self.role).short_label

    @property
    def secret_mark(self) -> str:
        """Stands for the secret in a form: it is another one after each rotation, and no digest of it."""
        return salted_hmac("tenants.Module.secret_mark", self.secret_digest, algorithm="sha256").hexdigest()[
            :32
        ]

    @property
    def state(self) -> ModuleState:
        """Only a live module gets tokens and may use them."""
        if not self.enabled:
            return ModuleState.DISABLED
        if self.expires_at is not None and self.expires_at <= timezone.now():
            return ModuleState.EXPIRED
        return ModuleState.LIVE


class Membership(models.Model):
    """A person who works for a tenant in the admin, with the rights of a role there."""

    person = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        related_name="memberships",
        verbose_name=_("person"),
        help_text=_("Who it is."),
    )
    tenant = models.ForeignKey(
        Tenant,
        models.CASCADE,
        related_name="memberships",
        verbose_name=_("tenant"),
        help_text=_("Whose rows the person sees."),
    )
    role = models.CharField(
        _("role"),
        max_length=6,
        choices=Role,
        default=Role.READER,
        help_text=_("What the person may do there."),
    )

    class Meta:
        verbose_name = _("membership")
        verbose_name_plural = _("memberships")
        ordering = ["person", "tenant"]
        constraints = [
            models.UniqueConstraint(fields=["person", "tenant"], name="membership_is_unique"),
            models.CheckConstraint(condition=Q(role__in=Role.values), name="membership_role_is_known"),
        ]

    def __str__(self) -> str:
        return gettext("{person} is {role} of {tenant}").format(
            person=self.person, role=Role(self.role).short_label, tenant=self.tenant
        )


class ProviderAccount(models.Model):
    """The account at an identity provider with which a person signs in: the one way in that the person has."""

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        related_name="provider_account",
        verbose_name=_("person"),
        help_text=_("Who signs in."),
    )
    issuer = models.CharField(
        _("issuer"), max_length=500, help_text=_("The `iss` of the provider's ID tokens.")
    )
    subject = models.CharField(
        _("subject"),
        max_length=255,
        help_text=_("The `sub` by which the provider knows the person; never an e-mail address."),
    )

    class Meta:
        verbose_name = _("account at a provider")
        verbose_name_plural = _("accounts at a provider")
        ordering = ["issuer", "subject"]
        constraints = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="provider_account_is_unique")
        ]

    def __str__(self) -> str:
        return gettext("{subject} at {issuer}").format(subject=self.subject, issuer=self.issuer)


def default_algorithms() -> list[str]:
    """What the common providers sign with."""
    return [Algorithm.RS256.value, Algorithm.PS256.value, Algorithm.ES256.value]


def own_roles() -> dict[str, str]:
    """The names of our roles, each standing for itself."""
    return {role: role for role in Role.values}


class TrustedIssuerQuerySet(models.QuerySet["TrustedIssuer"]):
    def of(self, tenant_identifier: str) -> "TrustedIssuerQuerySet":
        """What one tenant trusts, by its public id; each row with its tenant."""
        return self.filter(tenant__identifier=tenant_identifier).select_related("tenant")

    def live(self) -> "TrustedIssuerQuerySet":
        """What is trusted at the moment."""
        return self.filter(enabled=True)


class TrustedIssuer(models.Model):
    """A foreign identity provider whose access tokens open one tenant, under the conditions written here."""

    tenant = models.ForeignKey(
        Tenant,
        models.PROTECT,
        related_name="trusted_issuers",
        verbose_name=_("tenant"),
        help_text=_("The tenant that its tokens open."),
    )
    issuer = models.CharField(
        _("issuer"), max_length=500, help_text=_("The `iss` of its tokens, to the letter.")
    )
    jwks_uri = models.CharField(
        _("JWKS address"),
        max_length=500,
        blank=True,
        help_text=_("Where its keys are; empty: where its discovery document says."),
    )
    audiences = ArrayField(
        models.CharField(max_length=200),
        verbose_name=_("audiences"),
        help_text=_("A token must be meant for one of them; nothing else shares them."),
    )
    audience_claim = models.CharField(
        _("audience claim"),
        max_length=200,
        default="aud",
        help_text=_("The claim that names the audience: aud, or client_id with Cognito."),
    )
    tenant_claim = models.CharField(
        _("tenant claim"),
        max_length=200,
        blank=True,
        help_text=_("The claim that names the tenant; empty: every token is the tenant's."),
    )
    tenant_value = models.CharField(
        _("tenant value"),
        max_length=200,
        blank=True,
        help_text=_("What the tenant claim must be, or contain if it is a list."),
    )
    roles_claim = models.CharField(
        _("roles claim"),
        max_length=200,
        default="roles",
        help_text=_("The claim with the roles; dots lead into it, as in realm_access.roles."),
    )
    role_map = models.JSONField(
        _("role map"), default=own_roles, help_text=_("Which value of the roles claim stands for which role.")
    )
    subject_claim = models.CharField(
        _("subject claim"),
        max_length=200,
        blank=True,
        help_text=_("The claim that says for whom a client reads; see the tenant's asset ids by subject."),
    )
    algorithms = ArrayField(
        models.CharField(max_length=7, choices=Algorithm),
        default=default_algorithms,
        verbose_name=_("algorithms"),
        help_text=_("How its tokens may be signed."),
    )
    enabled = models.BooleanField(
        _("enabled"), default=True, help_text=_("The tokens of a disabled issuer are refused.")
    )
    created_at = models.DateTimeField(
        _("created at"), default=timezone.now, editable=False, help_text=_("When it was first trusted.")
    )

    objects = TrustedIssuerQuerySet.as_manager()

    class Meta:
        verbose_name = _("trusted issuer")
        verbose_name_plural = _("trusted issuers")
        ordering = ["tenant", "issuer"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "issuer"], name="issuer_is_unique_in_tenant"),
            models.CheckConstraint(
                condition=Q(algorithms__contained_by=Algorithm.values) & ~Q(algorithms=[]),
                name="issuer_algorithms_are_asymmetric",
            ),
            models.CheckConstraint(condition=~Q(audiences=[]), name="issuer_has_an_audience"),
            models.CheckConstraint(
                condition=Q(tenant_claim="", tenant_value="") | ~Q(tenant_claim="") & ~Q(tenant_value=""),
                name="issuer_tenant_claim_has_a_value",
            ),
        ]

    def __str__(self) -> str:
        return self.issuer


class Counter(models.Model):
    """How much of a limit is used up in a window of time; `tenants/limits.py` writes it."""

    key = models.UUIDField(primary_key=True, help_text="Digest of what is limited.")
    ends_at = models.DateTimeField(db_index=True, help_text="When the window ends; then it begins anew.")
    used = models.BigIntegerField(help_text="How much was granted or counted in the window.")

    def __str__(self) -> str:
        return f"{self.used} until {self.ends_at}"
