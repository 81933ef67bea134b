from typing import Any

from django.core.management.base import BaseCommand

from shells import uploads


class Command(BaseCommand):
    help = (
        "Check and import the files that people sent to the admin and that wait; the server calls this itself. "
        "What another process works on is left to it."
    )

    def handle(self, **options: Any) -> None:
        uploads.run_waiting()
        uploads.forget_old()
