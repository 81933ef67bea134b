"""The dashboard, and what it says of a single tenant: from kept figures, of the own tenants only."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db.models import Q, Sum
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from shells.models import (
    Change,
    DailyFigure,
    FigureState,
    Quota,
    RefusedRequests,
    SemanticIdFigure,
    SlowRequest,
    Total,
)
from tenants.admin.tenants import TenantAdmin
from tenants.models import Tenant
from tenants.people import person_of

DAYS = 30
#: How many rows each of the tables has.
ROWS = 10


@dataclass(frozen=True)
class Bar:
    """A bar of a chart of DAYS days, in a drawing that is 100 wide and 100 high."""

    x: float
    y: float
    width: float
    height: float
    day: date
    number: int


def add_figures(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """For unfold: the context of the start page, with the figures that the person may see."""
    person = person_of(request)
    seen = person.rows()
    return {**context, "figures": _figures(seen) if person.sees_something else None}


def _figures(seen: Q) -> dict[str, Any]:
    days = _last_days()
    return {
        "as_of": _as_of(),
        "totals": _linked(_totals(seen)),
        "tenants": _tenants(seen),
        "registered": _bars(days, _registered(seen, days[0])),
        "semantic_ids": _semantic_ids(seen),
        **_refused(seen, days),
        "slowest": SlowRequest.objects.filter(seen).select_related("tenant").order_by("-milliseconds")[:ROWS],
    }


def _linked(totals: dict[str, int]) -> list[tuple[str, int, str]]:
    """What it is, how many there are, and where they are listed."""
    return [
        (_("Shells"), totals["shell-descriptors"], reverse("admin:shells_shell_changelist")),
        (_("Submodels in shells"), totals["submodels"], reverse("admin:shells_submodel_changelist")),
        (
            _("Submodel descriptors"),
            totals["submodel-descriptors"],
            reverse("admin:shells_standalonesubmodel_changelist"),
        ),
    ]


def _tenants(seen: Q) -> list[dict[str, Any]]:
    """The tenants with the most shells."""
    kept = Total.objects.filter(seen, collection="shell-descriptors", descriptors__gt=0)
    rows = kept.order_by("-descriptors", "tenant__identifier").values_list(
        "tenant", "tenant__identifier", "descriptors"
    )
    return _with_share([{"pk": pk, "name": name, "number": number} for pk, name, number in rows[:ROWS]])


def _registered(seen: Q, since: date) -> dict[date, int]:
    """How many shells were registered on each day."""
    kept = DailyFigure.objects.filter(seen, day__gte=since, collection="shell-descriptors")
    return dict(kept.values_list("day").annotate(Sum("registered")))


def _semantic_ids(seen: Q) -> list[dict[str, Any]]:
    kept = SemanticIdFigure.objects.filter(seen).values_list("semantic_id").annotate(number=Sum("submodels"))
    rows = kept.order_by("-number", "semantic_id")[:ROWS]
    return _with_share([{"name": name, "number": number} for name, number in rows])


def _refused(seen: Q, days: Sequence[date]) -> dict[str, Any]:
    """The requests that were refused: by day and status, by day, by status."""
    kept = RefusedRequests.objects.filter(seen, day__gte=days[0]).values("day", "status")
    rows = list(kept.annotate(number=Sum("requests")).order_by("-day", "status"))
    by_day: Counter[date] = Counter()
    by_status: Counter[int] = Counter()
    for row in rows:
        by_day[row["day"]] += row["number"]
        by_status[row["status"]] += row["number"]
    return {
        "refused": _bars(days, by_day),
        "refused_rows": rows,
        "refused_statuses": sorted(by_status.items()),
    }


def _totals(seen: Q) -> dict[str, int]:
    none = dict.fromkeys(("shell-descriptors", "submodel-descriptors", "submodels"), 0)
    kept = Total.objects.filter(seen).values_list("collection").annotate(Sum("descriptors"))
    return none | dict(kept)


def _as_of() -> datetime | None:
    return FigureState.objects.values_list("folded_at", flat=True).first()


def _last_days() -> list[date]:
    today = datetime.now(UTC).date()
    return [today - timedelta(days=ago) for ago in reversed(range(DAYS))]


def _bars(days: Sequence[date], numbers: dict[date, int]) -> dict[str, Any]:
    most = max(numbers.get(day, 0) for day in days)
    step = 100 / len(days)
    bars = []
    for place, day in enumerate(days):
        number = numbers.get(day, 0)
        height = max(100 * number / most, 1) if number else 0  # one of a million is seen as well
        bars.append(Bar(place * step, 100 - height, step * 0.8, height, day, number))
    return {
        "bars": bars,
        "most": most,
        "sum": sum(bar.number for bar in bars),
        "first": days[0],
        "last": days[-1],
    }


def _with_share(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows, each with the length of its bar in percent of the first one's."""
    most = max([1, *(row["number"] for row in rows)])
    return [{**row, "share": round(100 * row["number"] / most)} for row in rows]


def tenant_panel(request: HttpRequest, tenant: Tenant) -> tuple[str, dict[str, Any]]:
    """Figures and recent changes on the page of a tenant."""
    totals = _totals(Q(tenant=tenant))
    changes = Change.objects.of(tenant.pk).defer("before").order_by("-id")
    return "admin/shells/tenant_panel.html", {
        "shells": totals["shell-descriptors"],
        "submodels": totals["submodels"],
        "standalone": totals["submodel-descriptors"],
        "quota": Quota.objects.filter(tenant=tenant).first(),
        "as_of": _as_of(),
        "changes": changes[:ROWS],
        "all_shells": f"{reverse('admin:shells_shell_changelist')}?tenant__id__exact={tenant.pk}",
        "all_changes": f"{reverse('admin:shells_change_changelist')}?tenant__id__exact={tenant.pk}",
    }


TenantAdmin.panels.append(tenant_panel)
