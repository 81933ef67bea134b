"""Two live secrets while a client is told its new one: manage.py rotate_secret and the token endpoint."""

import json
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError
from django.utils import timezone

from tenants import durations, secrets
from tenants.models import Module
from tests.conftest import Persona, post_form


def rotate(someone: Persona, *options: str) -> dict[str, Any]:
    output = StringIO()
    call_command(
        "rotate_secret", someone.tenant.identifier, someone.module.name, "--json", *options, stdout=output
    )
    document: dict[str, Any] = json.loads(output.getvalue())
    return document


def status(someone: Persona, secret: str) -> int:
    response = post_form(someone.client, someone.token_url, someone.form(client_secret=secret))
    return int(response.status_code)


def end_overlap(someone: Persona) -> None:
    Module.objects.filter(pk=someone.module.pk).update(previous_secret_expires_at=timezone.now())


def test_both_secrets_work_until_the_old_one_ends(alice: Persona) -> None:
    credentials = rotate(alice)
    assert credentials["tenant_id"] == "tenant-a"
    assert credentials["client_id"] == alice.module.client_id
    assert len(credentials["client_secret"]) == 43
    ends = datetime.fromisoformat(credentials["previous_secret_expires_at"])
    assert timedelta(hours=23, minutes=59) < ends - datetime.now(UTC) <= timedelta(hours=24)
    assert [status(alice, secret) for secret in (alice.secret, credentials["client_secret"])] == [200, 200]
    end_overlap(alice)
    assert [status(alice, secret) for secret in (alice.secret, credentials["client_secret"])] == [401, 200]


def test_never_more_than_two_are_live(alice: Persona) -> None:
    second = rotate(alice)["client_secret"]
    third = rotate(alice)["client_secret"]
    assert [status(alice, secret) for secret in (alice.secret, second, third)] == [401, 200, 200]


def test_without_an_overlap_the_old_one_ends_at_once(alice: Persona) -> None:
    rotate(alice)
    credentials = rotate(alice, "--overlap", "0s")
    assert credentials["previous_secret_expires_at"] is None
    assert [status(alice, secret) for secret in (alice.secret, credentials["client_secret"])] == [401, 200]


def test_tokens_that_were_issued_live_on(alice: Persona) -> None:
    rotate(alice, "--overlap", "0s")
    assert alice.fetch("urn:1").status_code == 404


def test_secrets_are_stored_as_digests(alice: Persona) -> None:
    secret = rotate(alice)["client_secret"]
    module = Module.objects.values().get(pk=alice.module.pk)
    assert module["secret_digest"] == secrets.digest(secret)
    assert module["previous_secret_digest"] == secrets.digest(alice.secret)
    assert secret not in str(module)


def test_a_digest_is_no_secret(alice: Persona) -> None:
    rotate(alice)
    alice.module.refresh_from_db()
    assert status(alice, alice.module.secret_digest) == 401
    assert status(alice, str(alice.module.previous_secret_digest)) == 401


def test_for_people(alice: Persona) -> None:
    output = StringIO()
    call_command("rotate_secret", "tenant-a", "alice", stdout=output)
    lines = output.getvalue().splitlines()
    assert [line.split(": ")[0] for line in lines[:2]] == ["client_id", "client_secret"]
    assert lines[2].startswith("the old secret works until ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nobody", "alice"], "there is no tenant 'nobody'"),
        (["n\udcff", "alice"], r"there is no tenant 'n\udcff'"),
        (["tenant-a", "nobody"], "tenant 'tenant-a' has no module 'nobody'"),
        (["tenant-a", "n\udcff"], r"tenant 'tenant-a' has no module 'n\udcff'"),
        (["tenant-a", "charlie"], "tenant 'tenant-a' has no module 'charlie'"),
        (
            ["tenant-a", "alice", "--overlap", "soon"],
            "'soon' is no length of time such as 90s, 30m, 24h or 7d",
        ),
        (["tenant-a", "alice", "--overlap", "366d"], "the overlap must be between 0 and 365 days"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    alice: Persona, charlie: Persona, arguments: list[str], message: str
) -> None:
    with pytest.raises(CommandError) as refusal:
        call_command("rotate_secret", *arguments)
    assert str(refusal.value) == message
    assert status(alice, alice.secret) == 200


def test_the_database_wants_an_end_for_the_old_secret(alice: Persona) -> None:
    with pytest.raises(IntegrityError, match="module_previous_secret_has_an_end"):
        Module.objects.filter(pk=alice.module.pk).update(previous_secret_digest="0" * 64)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90s", timedelta(seconds=90)),
        ("30m", timedelta(minutes=30)),
        ("24h", timedelta(days=1)),
        ("7d", timedelta(days=7)),
        ("0s", timedelta(0)),
    ],
)
def test_lengths_of_time(text: str, expected: timedelta) -> None:
    assert durations.parse(text) == expected


@pytest.mark.parametrize("text", ["", "24", "h", "-1h", "1.5h", "1h30m", "999999d", "1h\n", "٣h"])
def test_what_is_no_length_of_time(text: str) -> None:
    with pytest.raises(ValueError, match="is no length of time"):
        durations.parse(text)
