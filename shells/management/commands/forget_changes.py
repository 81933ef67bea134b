"""`manage.py forget_changes --older-than-days N`."""

import argparse
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from shells import figures, services


def _days(text: str) -> timedelta:
    try:
        days = timedelta(days=int(text))
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of days") from None
    if days < timedelta():
        raise argparse.ArgumentTypeError("must not be negative")
    return days


class Command(BaseCommand):
    help = "Delete the notes of changes that are older than a number of days, of all tenants."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--older-than-days", type=_days, required=True, metavar="N", help="how old")

    def handle(self, *args: Any, older_than_days: timedelta, **options: Any) -> None:
        try:
            end = timezone.now() - older_than_days
        except OverflowError:  # before the first year
            number = 0
        else:
            figures.refresh()
            number = services.forget_changes(end)
        self.stdout.write(f"deleted {number} notes of changes")
