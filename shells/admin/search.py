"""How lists of the admin are searched: by index, exactly."""

import contextlib
from collections.abc import Iterable
from typing import Any

from django.contrib import messages
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Exists, OuterRef, Q, QuerySet, TextField, Value
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from shells import identifiers
from shells.models import AssetId, Shell, Submodel, beginning, host_hash, text_hash
from tenants.admin.base import TENANT
from tenants.models import Tenant
from tenants.people import person_of

#: In so many tenants at once identifiers and asset ids are looked for.
MAX_TENANTS = 100
#: So many asset ids of a tenant, the newest ones, say which names are in use.
NAMES_OF = 500


def equals(queryset: QuerySet[Any], column: str, text: str) -> QuerySet[Any]:
    """The rows whose column is this text, through the index on its hash."""
    found: QuerySet[Any] = queryset.alias(**{f"{column}_hash": text_hash(column)})
    return found.filter(**{f"{column}_hash": text_hash(Value(text)), column: text})


def identified(text: str) -> Q:
    """The rows with this identifier, or with that of which it is the base64url form in addresses."""
    possible = [text]
    with contextlib.suppress(identifiers.InvalidIdentifier):
        possible.append(identifiers.decode(text))
    return Q(digest__in=map(identifiers.digest, possible), identifier__in=possible)


def starting_with(queryset: QuerySet[Any], start: str) -> QuerySet[Any]:
    """The rows whose idShort begins so; `beginning` is what they are ordered by."""
    found: QuerySet[Any] = queryset.annotate(beginning=beginning("id_short"))
    found = found.filter(beginning__startswith=start[: identifiers.INDEXED_BEGINNING])
    return found.filter(id_short__startswith=start) if len(start) > identifiers.INDEXED_BEGINNING else found


def pointing_to(queryset: QuerySet[Any], host: str) -> QuerySet[Any]:
    """The endpoints at a host; it may be given as an address."""
    address = Value(host if "://" in host else f"any://{host}", output_field=TextField())
    found: QuerySet[Any] = queryset.alias(host=host_hash("href"))
    return found.filter(host=host_hash(address))


def with_semantic_id(queryset: QuerySet[Any], semantic_id: str) -> QuerySet[Any]:
    """The shells that have a submodel with this semantic id."""
    submodels = Submodel.objects.filter(tenant=OuterRef("tenant_id"), shell=OuterRef("pk"))
    return queryset.filter(Exists(equals(submodels, "semantic_id", semantic_id)))


# --- Asset ids ----------------------------------------------------------------------------------------


def as_pair(text: str) -> tuple[str, str] | None:
    """Name and value of an asset id that is written `name=value`; None of other texts, such as addresses."""
    name, equal, value = text.partition("=")
    return (name, value) if equal and value and 0 < len(name) <= 64 and not set(name) & set(":/?#") else None


def with_asset_ids(
    queryset: QuerySet[Any], tenants: Iterable[int], names: Iterable[str], value: str
) -> QuerySet[Any]:
    """The asset ids with this value and one of these names."""
    names = list(names)
    pairs = [identifiers.pair_hash(tenant, name, value) for tenant in tenants for name in names]
    return queryset.filter(pair__in=pairs, name__in=names, value=value)


def asset_ids_known_as(tenants: list[int], names: Iterable[str], text: str) -> QuerySet[Any]:
    """The keys of the asset ids of these tenants with this text as value, or of the shell that it identifies."""
    of_tenants = AssetId.objects.filter(tenant__in=tenants)
    shells = Shell.objects.filter(identified(text), tenant__in=tenants)
    found = of_tenants.filter(shell__in=shells.values("pk")).values("pk")
    return found.union(with_asset_ids(of_tenants, tenants, names, text).values("pk"), all=True)


def names_in_use(tenants: Iterable[int]) -> set[str]:
    """The names of the newest asset ids of these tenants."""
    newest = AssetId.objects.filter(tenant=OuterRef("pk")).order_by("-shell_id").values("name")[:NAMES_OF]
    found = Tenant.objects.filter(pk__in=tenants).values_list(ArraySubquery(newest), flat=True)
    return {name for names in found for name in names}


def tenants_of(request: HttpRequest) -> list[int]:
    """The keys of the tenants in which a search looks: the chosen one, or those that the person sees."""
    seen = [tenant.pk for tenant in person_of(request).seen]
    chosen = request.GET.get(TENANT, "")
    if chosen.isdecimal():
        seen = [key for key in seen if key == int(chosen)]
    if len(seen) > MAX_TENANTS:
        text = _("Searched in {some} of {all} tenants only: choose a tenant.")
        messages.warning(request, text.format(some=MAX_TENANTS, all=len(seen)))
    return seen[:MAX_TENANTS]


def shells_known_as(
    queryset: QuerySet[Any], tenants: list[int], names: Iterable[str], text: str
) -> QuerySet[Any]:
    """The shells that have this text as identifier, global asset id, idShort or value of an asset id."""
    of_tenants = Shell.objects.filter(tenant__in=tenants)
    short = of_tenants.alias(beginning=beginning("id_short"))
    found = [
        of_tenants.filter(identified(text)).values("pk"),
        equals(of_tenants, "global_asset_id", text).values("pk"),
        short.filter(beginning=text[: identifiers.INDEXED_BEGINNING], id_short=text).values("pk"),
        with_asset_ids(AssetId.objects.filter(tenant__in=tenants), tenants, names, text).values("shell_id"),
    ]
    return queryset.filter(pk__in=found[0].union(*found[1:], all=True))


# --- The simple case ----------------------------------------------------------------------------------


class DigestSearch:
    """Search by the exact identifier, through the index on its digest."""

    search_fields = ["identifier"]
    search_help_text = gettext_lazy("The whole identifier")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        term = search_term.strip()
        return (queryset.filter(identified(term)) if term else queryset), False
