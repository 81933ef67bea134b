"""How lists of the admin are searched: by index."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest

from shells import identifiers


class DigestSearch:
    """Search by the exact identifier, through the index on its digest."""

    search_fields = ["identifier"]
    search_help_text = "The whole identifier."

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if not search_term:
            return queryset, False
        return queryset.filter(digest=identifiers.digest(search_term), identifier=search_term), False
