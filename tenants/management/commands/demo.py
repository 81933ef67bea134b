"""What `make run` prints: a tenant to try things with, and three commands to paste."""

from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError

from tenants import issuing, secrets, services
from tenants.models import Module, Tenant

TENANT = "demo"

INSTRUCTIONS = """
  tenant id      {tenant}
  client id      {client_id}
  client secret  {client_secret}

1. Get a token (it lives {lifetime} seconds; when an answer is 401, get a new one):

TOKEN=$(curl -s {issuer}/token \\
  -d grant_type=client_credentials -d client_id={client_id} -d client_secret={client_secret} \\
  -d scope='aud:{audience} openid' | sed 's/.*"access_token": *"\\([^"]*\\)".*/\\1/')

2. Register a shell:

curl -i {base_url}/aas-api/v3/{tenant}/shell-descriptors \\
  -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{{
  "id": "1111-shell", "idShort": "1111-short",
  "description": [{{"language": "en", "text": "A pump"}}],
  "displayName": [{{"language": "en", "text": "Pump 1111"}}],
  "globalAssetId": "1111-asset", "assetKind": "Instance", "assetType": "pump",
  "submodelDescriptors": [{{
    "id": "b6a4d5f0-6c0e-4d5b-9a53-2f1f6f5f1111",
    "endpoints": [{{"interface": "AAS-1.0", "protocolInformation": {{
      "href": "opc.tcp://192.0.2.1:4840", "endpointProtocolVersion": ["1.1"],
      "securityAttributes": [{{"type": "NONE", "key": "NONE", "value": "NONE"}}]}}}}]}}],
  "specificAssetIds": [
    {{"name": "serialNumber", "value": "1111"}},
    {{"name": "partNumber", "value": "p-1111", "externalSubjectId": {{
      "type": "ExternalReference", "keys": [{{"type": "GlobalReference", "value": "urn:partner:1"}}]}}}}]}}'

3. Fetch it (the last part of the address is its id in base64url):

curl -i {base_url}/aas-api/v3/{tenant}/shell-descriptors/MTExMS1zaGVsbA== -H "Authorization: Bearer $TOKEN"

  admin     {base_url}/admin/   (user {admin}, password {admin_password})
  API docs  {base_url}/docs
  stop      Ctrl-C
"""


class Command(BaseCommand):
    help = (
        f"Make sure that a tenant {TENANT!r} and an admin user exist, and print how to use them (DEBUG only)."
    )

    def handle(self, **options: Any) -> None:
        if not settings.DEBUG:
            raise CommandError("the demo's secrets are known to everybody: it runs with DEBUG=True only")
        if not Tenant.objects.filter(identifier=TENANT).exists():
            services.create_tenant(TENANT, name="To try things with")
        if not Module.objects.filter(client_id=secrets.DEMO_CLIENT_ID).exists():
            services.add_module(TENANT, "demo", client_id=secrets.DEMO_CLIENT_ID, secret=secrets.DEMO_SECRET)
        users = get_user_model()
        if not users.objects.filter(username=secrets.DEMO_ADMIN).exists():
            users.objects.create_superuser(secrets.DEMO_ADMIN, password=secrets.DEMO_ADMIN_PASSWORD)
        self.stdout.write(
            INSTRUCTIONS.format(
                tenant=TENANT,
                client_id=secrets.DEMO_CLIENT_ID,
                client_secret=secrets.DEMO_SECRET,
                lifetime=settings.TOKEN_LIFETIME_SECONDS,
                issuer=issuing.issuer(TENANT),
                audience=settings.TARGET_CLIENTS[0].client_id,
                base_url=settings.BASE_URL or f"http://{settings.HOST}:{settings.PORT}",
                admin=secrets.DEMO_ADMIN,
                admin_password=secrets.DEMO_ADMIN_PASSWORD,
            )
        )
        self.stdout.flush()
