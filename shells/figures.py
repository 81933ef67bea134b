"""The figures of the dashboard: kept in small tables, beside the writes and not in them.

**Descriptors.** Every write leaves a change, and each change has the number of its transaction. Changes are
folded into totals and days a few seconds later, by whichever process comes first: those of all transactions
from where the last fold ended up to the oldest one that is still running. All of these are over, so none can
come in behind; and the end of a fold is written with it. So each change counts once, in whatever order
transactions commit.

**Requests.** Each process counts in memory what it refuses and what takes long, and adds that to the tables.
"""

import re
import threading
import time
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import structlog
from django.db import Error as DatabaseError
from django.db import connection, transaction
from pydantic_core import to_json

from shells.collections import COLLECTIONS
from shells.models import FigureState

logger = structlog.get_logger(__name__)

#: How often a process looks whether there is something to keep.
EVERY_SECONDS = 5
#: Submodels are counted anew at most every so many times as long as it takes.
COUNTING_SHARE = 200
#: Of each tenant, so many semantic ids are kept.
SEMANTIC_IDS = 20
#: A call that takes longer is slow.
SLOW_SECONDS = 0.25
#: Of each tenant and day so many slow calls are kept, for so many days.
SLOW_KEPT, SLOW_DAYS = 20, 7
#: So many days the numbers of refused calls are kept.
REFUSED_DAYS = 90
#: What a process keeps of tenants and statuses, and of slow calls, until it writes them.
MOST_IN_MEMORY = 10_000

_tenant_id = re.compile(r"[A-Za-z0-9._~-]{1,64}", re.ASCII)


# --- Descriptors --------------------------------------------------------------------------------------

#: The oldest transaction that is still running: all before it are over.
_HORIZON = "(SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint)"

_SUMS = """
    count(*) FILTER (WHERE action = 'registered') AS registered,
    count(*) FILTER (WHERE action = 'replaced') AS replaced,
    count(*) FILTER (WHERE action = 'removed') AS removed"""

_ADD_DAYS = """
    INSERT INTO shells_dailyfigure AS kept (tenant_id, collection, day, registered, replaced, removed)
    SELECT tenant_id, collection, day, registered, replaced, removed FROM fresh
    ON CONFLICT (day, tenant_id, collection)"""

_FOLD = f"""
WITH fresh AS MATERIALIZED (
    SELECT tenant_id, collection, (at AT TIME ZONE 'UTC')::date AS day, {_SUMS}
    FROM shells_change WHERE transaction >= %(mark)s AND transaction < {_HORIZON}
    GROUP BY tenant_id, collection, day
), days AS ({_ADD_DAYS}
    DO UPDATE SET registered = kept.registered + EXCLUDED.registered,
        replaced = kept.replaced + EXCLUDED.replaced, removed = kept.removed + EXCLUDED.removed
), totals AS (
    INSERT INTO shells_total AS kept (tenant_id, collection, descriptors)
    SELECT tenant_id, collection, sum(registered - removed) FROM fresh GROUP BY tenant_id, collection
    ON CONFLICT (tenant_id, collection) DO UPDATE SET descriptors = kept.descriptors + EXCLUDED.descriptors
)
UPDATE shells_figurestate SET transaction = {_HORIZON}, folded_at = now(),
    changed_at = CASE WHEN EXISTS (SELECT FROM fresh) THEN now() ELSE changed_at END
"""

#: A dump that was restored elsewhere has numbers of transactions that are not of this database.
_FORGET_FOREIGN = """
UPDATE shells_change SET transaction = 0
WHERE transaction >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint
"""
#: Days whose notes were deleted stay as they are, and so does the first one, of which some may be gone.
_CLEAR = """
DELETE FROM shells_total WHERE collection = ANY (%(collections)s);
DELETE FROM shells_dailyfigure WHERE day > (SELECT min((at AT TIME ZONE 'UTC')::date) FROM shells_change)
"""
_counted = " UNION ALL ".join(
    f"SELECT tenant_id, '{collection.name}' AS collection, count(*) AS descriptors"
    f" FROM {collection.table} GROUP BY tenant_id"
    for collection in COLLECTIONS.values()
)
#: What is there now, without the changes that the next folds will bring.
_RECOUNT = f"""
WITH fresh AS (
    SELECT tenant_id, collection, (at AT TIME ZONE 'UTC')::date AS day, {_SUMS}
    FROM shells_change WHERE transaction < {_HORIZON} GROUP BY tenant_id, collection, day
), days AS ({_ADD_DAYS} DO NOTHING
), counted AS ({_counted}
), to_come AS (
    SELECT tenant_id, collection, {_SUMS}
    FROM shells_change WHERE transaction >= {_HORIZON} GROUP BY tenant_id, collection
), totals AS (
    INSERT INTO shells_total (tenant_id, collection, descriptors)
    SELECT tenant_id, collection, coalesce(descriptors, 0) - coalesce(registered - removed, 0)
    FROM counted FULL JOIN to_come USING (tenant_id, collection)
)
UPDATE shells_figurestate SET transaction = {_HORIZON}, folded_at = now(), changed_at = now()
"""

_COUNT_SUBMODELS = f"""
DELETE FROM shells_total WHERE collection = 'submodels';
DELETE FROM shells_semanticidfigure;
INSERT INTO shells_total (tenant_id, collection, descriptors)
SELECT tenant_id, 'submodels', count(*) FROM shells_submodel GROUP BY tenant_id;
INSERT INTO shells_semanticidfigure (tenant_id, semantic_id, submodels)
SELECT tenant_id, semantic_id, submodels FROM (
    SELECT tenant_id, semantic_id, sum(submodels) AS submodels,
        row_number() OVER (PARTITION BY tenant_id ORDER BY sum(submodels) DESC, semantic_id) AS place
    FROM (
        SELECT tenant_id, semantic_id, count(*) AS submodels FROM shells_submodel
        WHERE semantic_id IS NOT NULL GROUP BY tenant_id, semantic_id
        UNION ALL
        SELECT tenant_id, semantic_id, count(*) FROM shells_standalonesubmodel
        WHERE semantic_id IS NOT NULL GROUP BY tenant_id, semantic_id
    ) AS counted
    GROUP BY tenant_id, semantic_id
) AS ranked WHERE place <= {SEMANTIC_IDS}
"""


def refresh(*, recount: bool = False) -> None:
    """Fold the changes since the last time into totals and days; count anew the first time, or if asked to."""
    with transaction.atomic():
        mark = _locked_state().transaction
        if recount or mark == 0 or mark > _horizon():  # the last: a dump that was restored here
            _run(_FORGET_FOREIGN)
            _run(_CLEAR, {"collections": list(COLLECTIONS)})
            _run(_RECOUNT)
        else:
            _run(_FOLD, {"mark": mark})


def count_submodels() -> None:
    """Count the submodels inside shells, and the submodels of each semantic id."""
    started = time.perf_counter()
    with transaction.atomic():
        state = _locked_state()
        _run(_COUNT_SUBMODELS)
        _run(
            "UPDATE shells_figurestate SET counted_at = now(), counting_seconds = %(seconds)s WHERE id = %(id)s",
            {"seconds": time.perf_counter() - started, "id": state.pk},
        )


def keep() -> None:
    """What there is to do now and then: write what this process observed, and see to the figures if they are due."""
    observed.write()
    now = datetime.now(UTC)
    state = FigureState.objects.filter(pk=1).first()
    if state is None or (now - state.folded_at).total_seconds() >= EVERY_SECONDS * 0.8:
        refresh()
        state = FigureState.objects.get(pk=1)
    rest = max(EVERY_SECONDS, COUNTING_SHARE * state.counting_seconds)
    if state.counted_at is None or (
        state.changed_at > state.counted_at and (now - state.counted_at).total_seconds() >= rest
    ):
        count_submodels()


def _locked_state() -> FigureState:
    """The one row, locked: who else refreshes the figures waits."""
    _run(
        "INSERT INTO shells_figurestate (id, transaction, counting_seconds) VALUES (1, 0, 0) ON CONFLICT DO NOTHING"
    )
    return FigureState.objects.select_for_update().get(pk=1)


def _horizon() -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {_HORIZON}")
        row = cursor.fetchone()
    assert row is not None
    return int(row[0])


def _run(sql: str, parameters: dict[str, Any] | None = None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)


# --- Requests -----------------------------------------------------------------------------------------

_ADD_REFUSED = f"""
INSERT INTO shells_refusedrequests AS kept (tenant_id, day, status, requests)
SELECT tenant.id, item.day, item.status, sum(item.requests)
FROM json_to_recordset(%(items)s) AS item (tenant text, day date, status int, requests bigint)
LEFT JOIN tenants_tenant AS tenant ON tenant.identifier = item.tenant
GROUP BY tenant.id, item.day, item.status ORDER BY 2, 1, 3
ON CONFLICT (day, (COALESCE(tenant_id, 0)), status) DO UPDATE SET requests = kept.requests + EXCLUDED.requests;
DELETE FROM shells_refusedrequests WHERE day < (now() AT TIME ZONE 'UTC')::date - {REFUSED_DAYS}
"""
_ADD_SLOW = f"""
INSERT INTO shells_slowrequest (tenant_id, at, operation, status, milliseconds, correlation_id)
SELECT tenant.id, item.at, item.operation, item.status, item.milliseconds, item.correlation_id
FROM json_to_recordset(%(items)s) AS item
    (tenant text, at timestamptz, operation text, status int, milliseconds int, correlation_id text)
LEFT JOIN tenants_tenant AS tenant ON tenant.identifier = item.tenant;
DELETE FROM shells_slowrequest WHERE id IN (
    SELECT id FROM (
        SELECT id, at, row_number() OVER (
            PARTITION BY tenant_id, (at AT TIME ZONE 'UTC')::date ORDER BY milliseconds DESC, id
        ) AS place
        FROM shells_slowrequest
    ) AS ranked WHERE place > {SLOW_KEPT} OR at < now() - interval '{SLOW_DAYS} days'
)
"""


class Observed:
    """What this process refused, and what took long, since it was last written."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._refused: Counter[tuple[str, str, int]] = Counter()
        self._slow: list[dict[str, Any]] = []

    def note(self, tenant: Any, operation: str, status: int, seconds: float, correlation_id: str) -> None:
        """A call of the API that was refused or slow. What is no id of a tenant counts as none."""
        tenant = tenant if isinstance(tenant, str) and _tenant_id.fullmatch(tenant) else ""
        now = datetime.now(UTC)
        with self._lock:
            if status >= 400:
                key = (tenant, f"{now:%Y-%m-%d}", status)
                if key not in self._refused and len(self._refused) >= MOST_IN_MEMORY:
                    key = ("", *key[1:])
                self._refused[key] += 1
            if seconds >= SLOW_SECONDS and len(self._slow) < MOST_IN_MEMORY:
                self._slow.append(
                    {
                        "tenant": tenant,
                        "at": now,
                        "operation": operation,
                        "status": status,
                        "milliseconds": round(seconds * 1000),
                        "correlation_id": correlation_id,
                    }
                )

    def write(self) -> None:
        """Add it to the tables; if that fails, it is kept for the next time."""
        with self._lock:
            refused, self._refused = self._refused, Counter()
            slow, self._slow = self._slow, []
        try:
            with transaction.atomic():
                if refused:
                    items = [
                        {"tenant": tenant, "day": day, "status": status, "requests": number}
                        for (tenant, day, status), number in refused.items()
                    ]
                    _run(_ADD_REFUSED, {"items": to_json(items).decode()})
                if slow:
                    _run(_ADD_SLOW, {"items": to_json(slow).decode()})
        except DatabaseError:
            with self._lock:
                self._refused.update(refused)
                self._slow = [*slow, *self._slow][:MOST_IN_MEMORY]
            raise


observed = Observed()


# --- The thread ---------------------------------------------------------------------------------------


class Keeper:
    """The thread of this process that keeps the figures; it starts with the first request."""

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self.started = False

    def start(self) -> None:
        with self._starting:
            if not self.started:
                self.started = True
                threading.Thread(target=self._run, name="figures", daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                keep()
            except DatabaseError as error:  # it goes down, or is not migrated yet
                logger.warning("figures_not_kept", reason=type(error).__name__)
            except Exception:
                logger.exception("figures_not_kept")
            finally:
                connection.close()
            time.sleep(EVERY_SECONDS)


keeper = Keeper()
