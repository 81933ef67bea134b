"""`/health/live` and `/health/ready`, for load balancers and orchestrators. Neither needs a token."""

from django.db import DEFAULT_DB_ALIAS, Error, connections
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from tenants import keys


@require_safe
@never_cache
def live(request: HttpRequest) -> JsonResponse:
    """200 as long as this process answers at all."""
    return JsonResponse({"status": "ok"})


@require_safe
@never_cache
def ready(request: HttpRequest) -> JsonResponse:
    """200 if requests can be served; else 503 with the reasons."""
    reasons = [*_database_reasons(), *_signing_key_reasons()]
    if reasons:
        return JsonResponse({"status": "unavailable", "reasons": reasons}, status=503)
    return JsonResponse({"status": "ok"})


def _database_reasons() -> list[str]:
    connection = connections[DEFAULT_DB_ALIAS]
    try:
        executor = MigrationExecutor(connection)
        plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except Error:
        return ["the database does not answer"]
    return [f"migration {migration.app_label}.{migration.name} is not applied" for migration, _ in plan]


def _signing_key_reasons() -> list[str]:
    problem = keys.problem()
    return [problem] if problem else []
