"""Texts of others in lists: each in its own direction, and no wider than a column."""

from datetime import datetime

from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString

from shells.models import Shell


def text(value: str | None) -> SafeString:
    if not value:
        return SafeString("-")
    return format_html('<bdi class="one-line" title="{0}">{0}</bdi>', value)


def moment(value: datetime) -> SafeString:
    """A time in one line, as the reader's language writes it."""
    local = timezone.localtime(value)
    return format_html('<span class="one-time">{}</span>', date_format(local, "SHORT_DATETIME_FORMAT"))


def shell_link(shell: Shell) -> SafeString:
    return format_html(
        '<a href="{}">{}</a>', reverse("admin:shells_shell_change", args=[shell.pk]), text(str(shell))
    )
