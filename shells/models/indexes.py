"""What indexes are made of that stand for long texts."""

from django.db import models
from django.db.models import F, Func, Value
from django.db.models.functions import Collate, Left, Lower

from shells.identifiers import INDEXED_BEGINNING


def text_hash(text: str | Value) -> Func:
    """64 bits that stand for a long text (a column or a value) in an index; the text is compared as well."""
    expression = F(text) if isinstance(text, str) else text
    return Func(expression, Value(0), function="hashtextextended", output_field=models.BigIntegerField())


def beginning(column: str) -> Collate:
    """The beginning of a text, in an order in which all texts that begin alike are together."""
    return Collate(Left(column, INDEXED_BEGINNING), "C")


def host_hash(address: str | Value) -> Func:
    """64 bits that stand for the host in an address (a column or a value); NULL if it has none."""
    pattern = "^[A-Za-z][A-Za-z0-9+.-]*://(?:[^/?#@]*@)?([[][^]/?#]*[]]|[^/?#:@]+)"
    expression = F(address) if isinstance(address, str) else address
    host = Lower(Func(expression, Value(pattern), function="substring", output_field=models.TextField()))
    return Func(host, Value(0), function="hashtextextended", output_field=models.BigIntegerField())
