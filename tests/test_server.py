"""The real server over real HTTP, from an empty directory: what `make run` promises."""

import contextlib
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from shells.generating import shell_descriptor, shell_id
from shells.identifiers import encode
from shells.sources import reading
from tenants.secrets import DEMO_CLIENT_ID, DEMO_SECRET
from tests.bodies import CONTRACT_EXAMPLE
from tests.conftest import AUDIENCE, token_url
from tests.server import ROOT, Server, running_server

DATA = Path(__file__).parent.parent.parent / "shared" / "data" / "aasx"

pytestmark = pytest.mark.xdist_group("server")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("server"), empty=True) as running:
        yield running


@pytest.fixture
def registry(server: Server) -> Iterator[httpx2.Client]:
    """A client of the demo tenant with a fresh token."""
    with client_of(server) as client:
        yield client


def client_of(server: Server) -> httpx2.Client:
    form = {
        "grant_type": "client_credentials",
        "client_id": DEMO_CLIENT_ID,
        "client_secret": DEMO_SECRET,
        "scope": f"aud:{AUDIENCE} openid",
    }
    token = httpx2.post(server.url + token_url("demo"), data=form).raise_for_status().json()["access_token"]
    return httpx2.Client(
        base_url=f"{server.url}/aas-api/v3/demo/", headers={"Authorization": f"Bearer {token}"}, timeout=30
    )


def round_trip(registry: httpx2.Client, descriptor: dict[str, Any]) -> None:
    created = registry.post("shell-descriptors", json=descriptor)
    assert created.status_code == 201, created.text
    fetched = registry.get(f"shell-descriptors/{encode(descriptor['id'])}")
    assert fetched.status_code == 200
    assert fetched.json() == descriptor
    assert httpx2.get(created.headers["Location"], headers=registry.headers).json() == descriptor


def printed_commands(output: str) -> str:
    """The three commands that the server printed, as somebody would paste them."""
    steps = re.split(r"^\d\. .*:$", output, flags=re.MULTILINE)[1:4]
    assert len(steps) == 3
    return "\n".join([*steps[:2], steps[2].split("\n\n")[1]])


def carried_out(registry: httpx2.Client, location: str) -> httpx2.Response:
    """The result of a bulk operation, polled as a client does."""
    for _ in range(300):
        status = registry.get(location)
        if status.status_code == 302:
            return registry.get(status.headers["Location"])
        assert status.status_code == 200
        assert status.json() == {"executionState": "Initiated"}
        time.sleep(0.1)
    raise AssertionError("the bulk operation does not end")


@pytest.mark.spec("check", "38")
def test_a_bulk_operation_of_1_000_descriptors(registry: httpx2.Client) -> None:
    bodies = [shell_descriptor(number) for number in range(1000)]
    started = time.monotonic()
    accepted = registry.post("bulk/shell-descriptors", json=bodies)
    assert accepted.status_code == 202
    assert time.monotonic() - started < 2  # at once: it is not carried out before it is answered
    result = carried_out(registry, accepted.headers["Location"])
    assert (result.status_code, result.content) == (204, b"")
    assert registry.get(f"shell-descriptors/{encode(shell_id(999))}").json() == bodies[999]
    again = registry.post("bulk/shell-descriptors", json=[{"id": "urn:new"}, bodies[7]])
    failed = carried_out(registry, again.headers["Location"])
    assert failed.status_code == 400
    assert failed.json()["messages"][0]["text"] == "/1/id: a shell with this id is registered already"
    assert registry.get(f"shell-descriptors/{encode('urn:new')}").status_code == 404


def test_a_bulk_operation_outlives_the_server(tmp_path: Path) -> None:
    """What was accepted is carried out, once, whatever ends before that."""
    server = Server(tmp_path, empty=True).start()
    with client_of(server) as registry:
        body = [shell_descriptor(number) for number in range(1000)]
        location = registry.post("bulk/shell-descriptors", json=body).raise_for_status().headers["Location"]
    server.kill()
    server.start()
    with client_of(server) as registry:
        assert carried_out(registry, location).status_code == 204
        assert len(registry.get("shell-descriptors?limit=1000").json()["result"]) == 1000
    server.close()


@pytest.mark.spec("contract", "4 and 5")
def test_the_printed_commands_work_when_they_are_pasted(server: Server) -> None:
    script = printed_commands(server.output())
    pasted = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout
    pasted = pasted.replace("\r\n", "\n")
    answers = re.split(r"(?=HTTP/1\.1 )", pasted)[1:]
    statuses = [answer.split(" ", 2)[1] for answer in answers]
    assert statuses == ["201", "200"], pasted
    bodies = [json.loads(answer.split("\n\n", 1)[1]) for answer in answers]
    assert bodies[0] == bodies[1]
    assert bodies[0]["id"] == "1111-shell"


@pytest.mark.spec("contract", "4")
def test_the_contracts_example(registry: httpx2.Client) -> None:
    round_trip(registry, {**CONTRACT_EXAMPLE, "id": "2222-shell"})


@pytest.mark.parametrize(
    "name",
    [
        "reliability.json",
        "contact-information-v31.aasx",
        "handover-documentation-sample-v31.aasx",
        "time-series-data.aasx",
    ],
)
def test_shells_of_real_files(registry: httpx2.Client, name: str) -> None:
    """Metamodel 3.0 and 3.1, JSON and XML."""
    with open(DATA / name, "rb") as file:
        descriptors = [
            json.loads(item.content) for item in reading.items(file, f"https://example.org/{name}")
        ]
    assert descriptors
    for descriptor in descriptors:
        assert descriptor["submodelDescriptors"]
        assert all("semanticId" in submodel for submodel in descriptor["submodelDescriptors"])
        round_trip(registry, {**descriptor, "id": f"{descriptor['id']}#{name}"})


def test_an_answer_has_a_length(registry: httpx2.Client) -> None:
    assert "Content-Length" in registry.get("shell-descriptors/YQ").headers


def test_a_body_in_chunks(registry: httpx2.Client) -> None:
    def chunks() -> Iterator[bytes]:
        yield b'{"id":'
        yield b'"urn:chunked"}'

    headers = {"Content-Type": "application/json"}
    created = registry.post("shell-descriptors", content=chunks(), headers=headers)
    assert created.json() == {"id": "urn:chunked"}


def test_without_a_token_no_body_is_waited_for(server: Server) -> None:
    """Somebody without a token cannot keep a thread busy with a body that never comes."""
    head = b"POST /aas-api/v3/demo/shell-descriptors HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    for length in (b"Content-Length: 100\r\n\r\n{", b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
            connection.sendall(head + length)
            assert connection.recv(65536).startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_of_9_mib(registry: httpx2.Client, chunked: bool) -> None:
    body = b'{"id":"urn:large","x":"' + b"x" * (9 * 1024 * 1024) + b'"}'
    content = iter([body]) if chunked else body
    headers = {"Content-Type": "application/json"}
    refused = registry.post("shell-descriptors", content=content, headers=headers)
    assert refused.status_code == 413
    assert refused.json()["messages"][0]["text"] == "the body is larger than this registry takes"
    assert registry.get(f"shell-descriptors/{encode('urn:large')}").status_code == 404


def test_a_body_that_ends_early_is_not_stored(server: Server, registry: httpx2.Client) -> None:
    body = b'{"id":"urn:cut"}'
    head = (
        b"POST /aas-api/v3/demo/shell-descriptors HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: %s\r\n"
        b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    ) % (registry.headers["Authorization"].encode(), len(body) + 50)
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(head + body)
        connection.shutdown(socket.SHUT_WR)
        answer = connection.recv(65536)
    assert not answer or answer.startswith(b"HTTP/1.1 400 ")
    assert registry.get(f"shell-descriptors/{encode('urn:cut')}").status_code == 404


def test_the_longest_identifier_fits_into_the_address(registry: httpx2.Client) -> None:
    round_trip(registry, {"id": "\U0001f600" * 2048})


def test_a_bad_and_a_good_request_in_one_pipeline(server: Server, registry: httpx2.Client) -> None:
    def request(body: bytes) -> bytes:
        return (
            b"POST /aas-api/v3/demo/shell-descriptors HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            b"Authorization: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
        ) % (registry.headers["Authorization"].encode(), len(body), body)

    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(request(b'{"id":') + request(b'{"id":"urn:pipelined"}'))
        answers = b""
        while answers.count(b"HTTP/1.1 ") < 2 or b"urn:pipelined" not in answers:
            received = connection.recv(65536)
            assert received, answers
            answers += received
    assert re.findall(rb"HTTP/1\.1 (\d+)", answers) == [b"400", b"201"]


@pytest.mark.parametrize(
    "request_",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"NONSENSE\r\n\r\n",
        b"GET /aas-api/v3/demo/\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST /aas-api/v3/demo/shell-descriptors HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET /" + b"x" * 200_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    ],
)
def test_what_is_no_http_is_refused(server: Server, request_: bytes) -> None:
    answer = b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        with contextlib.suppress(OSError):  # it may hang up before it has read everything
            connection.sendall(request_)
            connection.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionResetError):
            answer = connection.recv(65536)
    assert not answer or re.match(rb"HTTP/1\.1 4\d\d ", answer)


def test_documentation_and_admin_are_there(server: Server) -> None:
    document = httpx2.get(f"{server.url}/openapi.json", headers={"Accept": "application/json"}).json()
    assert document["openapi"].startswith("3.")
    page = httpx2.get(f"{server.url}/docs").text
    for asset in re.findall(r'(?:src|href)="([^"]+)"', page):
        assert asset.startswith(("/static/", "/docs?script="))  # nothing from outside
        assert httpx2.get(server.url + asset).status_code == 200
    assert httpx2.get(f"{server.url}/admin/login/").status_code == 200


def test_no_token_secret_or_body_is_logged(server: Server, registry: httpx2.Client) -> None:
    registry.post("shell-descriptors", json={"id": "urn:logged", "idShort": "NotForTheLog"})
    registry.post("shell-descriptors", json={"idShort": "NotForTheLog"})
    registry.get("nonsense", headers={"X-Request-ID": "find-me"})
    events = [json.loads(line) for line in server.output().splitlines() if line.startswith("{")]
    logged = json.dumps(events)
    (event,) = (event for event in events if event.get("correlation_id") == "find-me")
    assert (event["event"], event["status"], event["tenant"]) == ("request", 404, "demo")
    token = registry.headers["Authorization"].removeprefix("Bearer ")
    for secret in (token, token.split(".")[2], DEMO_SECRET, "NotForTheLog"):
        assert secret not in logged


def test_ctrl_c_stops_server_and_database_and_the_next_start_has_the_data(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        with client_of(server) as registry:
            round_trip(registry, {"id": "urn:kept"})
        assert server.database_processes()
        server.interrupt()
        assert not server.database_processes()
        assert "Traceback" not in server.output()
        server.start()
        with client_of(server) as registry:
            assert registry.get(f"shell-descriptors/{encode('urn:kept')}").status_code == 200


def test_what_was_acknowledged_survives_a_kill_of_everything(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        with client_of(server) as registry:
            for number in range(50):
                assert registry.post("shell-descriptors", json={"id": f"urn:{number}"}).status_code == 201
            server.kill()
        server.start()
        with client_of(server) as registry:
            for number in range(50):
                assert registry.get(f"shell-descriptors/{encode(f'urn:{number}')}").status_code == 200


def test_a_database_that_restarts_is_noticed_before_it_is_used(tmp_path: Path) -> None:
    """A persistent connection whose server went away gives no failed request."""
    with running_server(tmp_path) as server, client_of(server) as registry:
        round_trip(registry, {"id": "urn:kept"})
        path = f"shell-descriptors/{encode('urn:kept')}"
        for _ in range(20):
            assert registry.get(path).status_code == 200
        backends = [
            process for process in server.database_processes()[1:] if "[local]" in process.cmdline()[0]
        ]
        assert backends
        for process in backends:
            process.terminate()
        for process in backends:
            process.wait(10)
        for _ in range(20):
            assert registry.get(path).status_code == 200


def test_a_registry_is_imported_from_another(server: Server, registry: httpx2.Client) -> None:
    """Over real HTTP, with real tokens and more than one page; an export of both is the same."""
    wanted = [shell_descriptor(number) for number in range(3000, 4200)]
    accepted = registry.post("bulk/shell-descriptors", json=wanted)
    assert carried_out(registry, accepted.headers["Location"]).status_code == 204

    def manage(*arguments: str) -> str:
        environment = {
            **server.environment,
            "IMPORT_TOKEN_URL": server.url + token_url("demo"),
            "IMPORT_CLIENT_ID": DEMO_CLIENT_ID,
            "IMPORT_CLIENT_SECRET": DEMO_SECRET,
        }
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.run(
            command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True
        ).stdout

    manage("create_tenant", "copy")
    manage("import_shells", "--tenant", "copy", "--from-registry", f"{server.url}/aas-api/v3/demo")
    original = manage("export_shells", "--tenant", "demo", "--format", "jsonl")
    assert manage("export_shells", "--tenant", "copy", "--format", "jsonl") == original
    assert original.count("\n") >= 1200
