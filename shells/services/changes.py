"""The notes of changes, once they are written."""

from datetime import datetime

from django.db.models import Subquery

from shells.models import Change, FigureState


def forget_changes(before: datetime) -> int:
    """Delete the notes of changes that were made before a moment, of all tenants; how many they were.

    Those that are not in the figures yet stay.
    """
    folded = Subquery(FigureState.objects.values("transaction"))
    number, _ = Change.objects.filter(at__lt=before, transaction__lt=folded).delete()
    return number
