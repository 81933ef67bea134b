from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tenants import issuers, services
from tenants.models import Algorithm, Role


class Command(BaseCommand):
    help = (
        "Let the access tokens of a foreign identity provider open a tenant, or change how (docs/identity.md). "
        "What is not given is as by default, not as it was."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("tenant", help="the tenant's id")
        parser.add_argument("issuer", help="the iss of its tokens, to the letter")
        parser.add_argument(
            "--audience",
            action="append",
            required=True,
            help="what its tokens must be meant for; may be given several times",
        )
        parser.add_argument(
            "--audience-claim", default="aud", help="the claim that names the audience (default: %(default)s)"
        )
        parser.add_argument(
            "--jwks-uri", default="", help="where its keys are (default: where its discovery document says)"
        )
        parser.add_argument(
            "--tenant-claim",
            default="",
            metavar="CLAIM[=VALUE]",
            help="a claim that must have this value; without a value, the tenant's id",
        )
        parser.add_argument(
            "--roles-claim",
            default="roles",
            help="the claim with the roles; dots lead into it (default: %(default)s)",
        )
        parser.add_argument(
            "--role-map",
            action="append",
            default=[],
            metavar="VALUE=ROLE",
            help="a value of the roles claim, and the role it stands for: reader, editor or admin; "
            "may be given several times (default: these three stand for themselves)",
        )
        parser.add_argument(
            "--subject-claim",
            default="",
            help="the claim that says for whom a client reads (docs/identity.md)",
        )
        parser.add_argument(
            "--algorithm",
            action="append",
            default=[],
            metavar="ALG",
            help=f"how its tokens may be signed; may be given several times: {', '.join(Algorithm.values)} "
            "(default: RS256, PS256, ES256)",
        )
        parser.add_argument(
            "--check", action="store_true", help="fetch its keys first, and trust it only if they can be had"
        )

    def handle(self, **options: Any) -> None:
        claim, _, value = options["tenant_claim"].partition("=")
        try:
            if options["check"]:
                issuers.fetch(issuers.Source(options["issuer"], options["jwks_uri"]))
            trusted = services.trust_issuer(
                options["tenant"],
                options["issuer"],
                audiences=options["audience"],
                jwks_uri=options["jwks_uri"],
                audience_claim=options["audience_claim"],
                tenant_claim=claim,
                tenant_value=value,
                roles_claim=options["roles_claim"],
                role_map=dict(map(_mapping, options["role_map"])),
                subject_claim=options["subject_claim"],
                algorithms=options["algorithm"],
            )
        except (issuers.KeysUnavailable, services.TenantError) as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"tenant {trusted.tenant.identifier} trusts {trusted.issuer}")


def _mapping(text: str) -> tuple[str, Role]:
    value, _, role = text.rpartition("=")
    if not value or role not in Role.values:
        raise CommandError(f"{text!r} is not VALUE=ROLE with one of the roles {', '.join(Role.values)}")
    return value, Role(role)
