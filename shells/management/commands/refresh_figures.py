"""`manage.py refresh_figures [--recount]`."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from shells import figures


class Command(BaseCommand):
    help = "Bring the figures of the dashboard up to date, as the server does every few seconds."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--recount", action="store_true", help="count all descriptors instead of adding what changed"
        )

    def handle(self, *args: Any, recount: bool, **options: Any) -> None:
        figures.refresh(recount=recount)
        figures.count_submodels()
