import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from shells.generating import shell_body


class Command(BaseCommand):
    help = "Write realistic shell descriptors to the standard output, as JSON Lines, to try things with."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("count", type=int, help="how many")
        parser.add_argument(
            "--seed", type=int, default=0, help="another seed gives other shells (default: %(default)s)"
        )

    def handle(self, **options: Any) -> None:
        if options["count"] < 0 or options["seed"] < 0:
            raise CommandError("count and seed must not be negative")
        output = getattr(self.stdout, "buffer", sys.stdout.buffer)
        for number in range(options["count"]):
            output.write(shell_body(number, options["seed"]) + b"\n")
        output.flush()
