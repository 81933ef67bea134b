"""The notes of changes, once they are written."""

from datetime import datetime

from shells.models import Change


def forget_changes(before: datetime) -> int:
    """Delete the notes of changes that were made before a moment, of all tenants; how many they were."""
    number, _ = Change.objects.filter(at__lt=before).delete()
    return number
