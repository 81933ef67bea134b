"""What is read out of files, whatever their form."""

import gzip
import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
import zstandard

from shells.descriptors import parse_shell
from shells.identifiers import encode
from shells.sources import environments, feeds, files, json_text, packages, packing, reading
from shells.sources.items import Unreadable

DATA = Path(__file__).parent.parent.parent / "shared" / "data" / "aasx"
LINES = b'{"id":"urn:1"}\n\n{"id":"urn:2","x":[1, 2.50]}\r\n  {"id":"urn:3"}'
NAMESPACE = "https://admin-shell.io/aas/3/0"


def stream(content: bytes) -> Any:
    return io.BufferedReader(io.BytesIO(content))


def read(content: bytes, endpoint_base: str | None = None) -> list[tuple[int | None, bytes]]:
    return [(item.line, item.content) for item in reading.items(stream(content), endpoint_base)]


def read_file(path: Path, endpoint_base: str | None = None) -> list[dict[str, Any]]:
    with open(path, "rb") as file:
        return [json.loads(item.content) for item in reading.items(file, endpoint_base)]


def refusal(content: bytes) -> str:
    with pytest.raises(Unreadable) as raised:
        read(content)
    assert "\n" not in str(raised.value)
    return str(raised.value)


class TestForms:
    def test_json_lines(self) -> None:
        assert read(LINES) == [
            (1, b'{"id":"urn:1"}'),
            (3, b'{"id":"urn:2","x":[1, 2.50]}'),
            (4, b'{"id":"urn:3"}'),
        ]

    @pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
    def test_packed(self, pack: Any) -> None:
        assert read(pack(LINES)) == read(LINES)
        assert read(pack(LINES + b"\n") + pack(LINES)) == read(LINES + b"\n" + LINES)

    def test_an_array(self) -> None:
        assert read(b'\n[{"id":"urn:1"},\n {"id": "urn:2"} ]') == [
            (2, b'{"id":"urn:1"}'),
            (3, b'{"id": "urn:2"}'),
        ]
        assert read(b"[]") == []

    def test_what_stands_in_an_array_stays_as_it_is(self) -> None:
        content = '[{"id":"ä\\u00e4\\ud83d\\ude00", "x":1.50, "id":"b"}, 12, 3.0e5, null, "s"]'.encode()
        assert [item for _, item in read(content)] == [
            '{"id":"ä\\u00e4\\ud83d\\ude00", "x":1.50, "id":"b"}'.encode(),
            b"12",
            b"3.0e5",
            b"null",
            b'"s"',
        ]

    @pytest.mark.parametrize(
        "page",
        [
            b'{"result":[{"id":"urn:1"}],"paging_metadata":{"cursor":"a"}}',
            b'{\n"paging_metadata": {"cursor":"a"},\n"result": [{"id":"urn:1"}]\n}',
        ],
    )
    def test_pages_of_an_api(self, page: bytes) -> None:
        assert [item for _, item in read(page)] == [b'{"id":"urn:1"}']
        assert [item for _, item in read(page + b"\n" + page)] == [b'{"id":"urn:1"}'] * 2

    def test_a_descriptor_over_several_lines(self) -> None:
        pretty = json.dumps({"id": "urn:1", "specificAssetIds": []}, indent=2).encode()
        assert read(pretty + b"\n" + pretty) == [(1, pretty), (5, pretty)]

    def test_a_bad_first_line_of_json_lines(self) -> None:
        assert [line for line, _ in read(b'{"id":"urn:1",\n{"id":"urn:2"}\n')] == [1, 2]

    def test_a_byte_order_mark(self) -> None:
        assert read(b"\xef\xbb\xbf" + LINES) == read(LINES)

    def test_pieces_of_any_size_give_the_same(self, monkeypatch: pytest.MonkeyPatch) -> None:
        content = ('[{"id":"ä"},' + "\n" * 7 + '12345, {"y":"\\"]"}, 1]').encode()
        expected = read(content)
        for size in range(1, 12):
            monkeypatch.setattr(json_text, "CHUNK_BYTES", size)
            assert read(content) == expected


class TestEnvironments:
    @pytest.mark.parametrize(
        "name",
        [
            "contact-information-v31.aasx",
            "handover-documentation-sample-v31.aasx",
            "reliability.aasx",
            "reliability.json",
            "time-series-data.aasx",
        ],
    )
    def test_real_files(self, name: str) -> None:
        descriptors = read_file(DATA / name, "https://example.org/api/")
        assert descriptors
        for descriptor in descriptors:
            parse_shell(json.dumps(descriptor).encode(), strict=False)
            assert descriptor["globalAssetId"]
            (endpoint,) = descriptor["endpoints"]
            href = f"https://example.org/api/shells/{encode(descriptor['id'])}"
            assert endpoint["protocolInformation"]["href"] == href
            assert descriptor["submodelDescriptors"]
            for submodel in descriptor["submodelDescriptors"]:
                assert submodel["idShort"]
                assert submodel["semanticId"]["keys"]
                href = f"https://example.org/api/submodels/{encode(submodel['id'])}"
                assert submodel["endpoints"][0]["protocolInformation"]["href"] == href

    def test_xml_and_json_say_the_same(self) -> None:
        assert read_file(DATA / "reliability.aasx") == read_file(DATA / "reliability.json")

    def test_json_and_xml_inside_a_package(self) -> None:
        content = package({"aasx/data.json": (DATA / "reliability.json").read_bytes()}, "/aasx/data.json")
        assert [json.loads(item) for _, item in read(content)] == read_file(DATA / "reliability.json")

    def test_metamodel_2(self) -> None:
        with pytest.raises(
            Unreadable, match=r"is an AAS environment of metamodel 2\.0; 3\.0 and 3\.1 are read"
        ):
            read_file(DATA / "digital-nameplate-sample.aasx")

    def test_metamodel_2_in_json(self) -> None:
        assert "metamodel 2.0" in refusal(b'{"assetAdministrationShells":[],"assets":[]}')
        shell = b'{"assetAdministrationShells":[{"identification":{"id":"a"}}]}'
        assert "metamodel 2.0" in refusal(shell)

    def test_without_a_shell(self) -> None:
        assert "without any shell" in refusal(b'{"assetAdministrationShells":[],"submodels":[]}')
        assert "without any shell" in refusal(f'<environment xmlns="{NAMESPACE}"/>'.encode())

    def test_everything_a_descriptor_takes(self) -> None:
        semantic = {"type": "ExternalReference", "keys": [{"type": "GlobalReference", "value": "urn:s"}]}
        shell = {
            "id": "urn:1",
            "idShort": "One",
            "displayName": [{"language": "en", "text": "One"}],
            "administration": {"version": "1", "revision": "2"},
            "assetInformation": {
                "assetKind": "Instance",
                "assetType": "urn:type",
                "globalAssetId": "urn:asset",
                "specificAssetIds": [{"name": "n", "value": "v", "externalSubjectId": semantic}],
                "defaultThumbnail": {"path": "/missing.png"},
            },
            "submodels": [{"type": "ModelReference", "keys": [{"type": "Submodel", "value": "urn:sm"}]}] * 2,
            "embeddedDataSpecifications": ["anything"],
        }
        submodel = {"id": "urn:sm", "supplementalSemanticIds": [semantic], "submodelElements": [{"odd": 1}]}
        content = json.dumps({"submodels": [submodel], "assetAdministrationShells": [shell]}).encode()
        ((_, descriptor),) = read(content)
        assert json.loads(descriptor) == {
            "id": "urn:1",
            "idShort": "One",
            "displayName": [{"language": "en", "text": "One"}],
            "administration": {"version": "1", "revision": "2"},
            "assetKind": "Instance",
            "assetType": "urn:type",
            "globalAssetId": "urn:asset",
            "specificAssetIds": [{"name": "n", "value": "v", "externalSubjectId": semantic}],
            "submodelDescriptors": [{"id": "urn:sm", "supplementalSemanticIds": [semantic]}],
        }

    def test_an_odd_element_is_no_reason_to_refuse_a_file(self) -> None:
        odd = b"<submodelElements><nonsense a='1'><id>x</id></nonsense></submodelElements><id>urn:sm</id>"
        ((_, descriptor),) = read(xml(odd))
        assert json.loads(descriptor) == {"id": "urn:1", "submodelDescriptors": [{"id": "urn:sm"}]}

    def test_text_that_nobody_needs_is_not_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(environments, "MAX_TEXT", 10)
        ((_, descriptor),) = read(xml(b"<id>urn:sm</id><idShort>" + b"x" * 100 + b"</idShort>"))
        assert len(descriptor) < 100

    def test_a_lone_surrogate(self) -> None:
        shells = b'{"assetAdministrationShells":[{"id":"\\ud800"},{"id":"urn:1"}]}'
        bad, good = reading.items(stream(shells), "https://example.org")
        assert bad.defect == "contains a lone surrogate, which is no character"
        assert good.defect is None

    def test_too_many_shells_and_submodels(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(environments, "MAX_IDENTIFIABLES", 1)
        assert "more than 1 shells and submodels" in refusal(xml(b"<id>urn:sm</id>"))


class TestBadFiles:
    def test_nothing(self) -> None:
        assert refusal(b"") == "is empty"
        assert refusal(b" \n ") == "is empty"

    def test_something_else(self) -> None:
        assert "it begins with 'hello'" in refusal(b"hello")
        assert "its root is 'html'" in refusal(b"<html/>")

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
    def test_utf16(self, encoding: str) -> None:
        assert "UTF-16" in refusal('{"id":"urn:1"}'.encode(encoding))

    def test_an_array_that_was_cut_off(self) -> None:
        assert refusal(b'[{"id":"urn:1"},\n{"id":').startswith("line 2: no JSON: ")
        assert "cut off" in refusal(b'[{"id":"urn:1"}\n')

    def test_an_array_that_is_not_utf8(self) -> None:
        assert "is not UTF-8" in refusal(b'[{"id":"\xff"}]')

    def test_an_array_nested_too_deeply(self) -> None:
        assert "nested too deeply" in refusal(b"[" * 100_000)

    def test_a_line_of_100_mib_is_skipped_over(self) -> None:
        content = b'{"id":"urn:1"}\n"' + b"x" * (100 * 1024 * 1024) + b'"\n{"id":"urn:3"}\n'
        found = list(reading.items(stream(content)))
        assert [item.line for item in found] == [1, 2, 3]
        assert found[1].defect == "the line is longer than 8388608 bytes"

    def test_a_value_that_is_too_long(self) -> None:
        assert "longer than" in refusal(b'["' + b"x" * (9 * 1024 * 1024) + b'"]')

    @pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
    @pytest.mark.parametrize("missing", [1, 20, 5_000])
    def test_packed_data_that_was_cut_off(self, pack: Any, missing: int) -> None:
        packed = pack(LINES + b'\n"' + os.urandom(10_000).hex().encode() + b'"')
        found = reading.items(stream(packed[:-missing]))
        with pytest.raises(Unreadable, match="data ends too early: the file was cut off"):
            list(found)

    def test_broken_gzip(self) -> None:
        packed = bytearray(gzip.compress(LINES))
        packed[-6] ^= 255  # of the checksum
        assert "the gzip data is broken: CRC check failed" in refusal(bytes(packed))

    @pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
    def test_a_bomb(self, pack: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(packing, "ALWAYS_ALLOWED_BYTES", 1024 * 1024)
        with pytest.raises(Unreadable, match="taken for a bomb"):
            read(pack(b'{"id":"urn:1"}\n' + b"x" * 20_000_000))

    def test_packed_twice(self) -> None:
        assert "packed twice" in refusal(gzip.compress(gzip.compress(LINES)))

    def test_an_entity_bomb(self) -> None:
        entities = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 9))
        bomb = (
            f'<!DOCTYPE x [<!ENTITY a0 "ha">{entities}]><environment xmlns="{NAMESPACE}">&a8;</environment>'
        )
        assert "document type or entities" in refusal(bomb.encode())
        assert "document type or entities" in refusal(package({"aasx/data.xml": bomb.encode()}))

    def test_an_entity_that_reads_a_file(self) -> None:
        text = b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>'
        assert "document type or entities" in refusal(text)

    def test_xml_that_was_cut_off(self) -> None:
        assert refusal(xml(b"<id>urn:sm</id>")[:-20]).startswith("line 2: no well-formed XML: ")


class TestPackages:
    def test_a_path_traversal(self) -> None:
        assert "leads out of the package: '../evil.xml'" in refusal(package({"../evil.xml": b"<x/>"}))
        content = package({"aasx/data.xml": xml(b"")}, "/../../../etc/passwd")
        assert "outside of the package" in refusal(content) or "does not contain" in refusal(content)

    def test_an_environment_that_is_missing(self) -> None:
        assert "does not contain: '/aasx/data.xml'" in refusal(package({}))

    def test_a_picture_that_is_missing(self) -> None:
        assert read_file(DATA / "handover-documentation-sample-v31.aasx")

    def test_a_zip_of_something_else(self) -> None:
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            archive.writestr("shells.jsonl", LINES)
        assert refusal(content.getvalue()) == "is a ZIP archive, but no AASX package"

    def test_a_package_that_was_cut_off(self) -> None:
        assert "is a broken package" in refusal(package({"aasx/data.xml": xml(b"")})[:-50])

    def test_a_bomb(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(packages, "MAX_ENVIRONMENT_BYTES", 1024 * 1024)
        bomb = xml(b"<x>" + b" " * 5_000_000 + b"</x>")
        assert "unpacks to more than" in refusal(package({"aasx/data.xml": bomb}))

    def test_too_many_parts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(packages, "MAX_PARTS", 2)
        assert "more than 2 parts" in refusal(package({}))

    def test_from_a_pipe(self, tmp_path: Path) -> None:
        content = io.BytesIO(package({"aasx/data.xml": xml(b"")}))
        with files.File("-").open(content) as piped, pytest.raises(Unreadable, match="from a pipe"):
            list(reading.items(piped))


class TestFiles:
    def names(self, *sources: Path) -> list[str]:
        return [Path(file.name).name for file in files.files(map(str, sources))]

    def test_a_directory_with_all_below_it(self, tmp_path: Path) -> None:
        for name in ["b.jsonl", "a/x.json.gz", "a/y.AASX", "c.xml", "readme.txt", "d.ndjson.zst"]:
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            path.touch()
        assert self.names(tmp_path) == ["b.jsonl", "c.xml", "d.ndjson.zst", "x.json.gz", "y.AASX"]

    def test_a_symbolic_link_out_of_the_directory(self, tmp_path: Path) -> None:
        outside, inside = tmp_path / "outside", tmp_path / "inside"
        outside.mkdir()
        inside.mkdir()
        (outside / "secret.jsonl").write_bytes(LINES)
        (inside / "a.jsonl").write_bytes(LINES)
        (inside / "b.jsonl").symlink_to(inside / "a.jsonl")
        (inside / "c.jsonl").symlink_to(outside / "secret.jsonl")
        (inside / "d").symlink_to(outside)
        found = list(files.files([str(inside)]))
        assert [(Path(file.name).name, file.defect is None) for file in found] == [
            ("a.jsonl", True),
            ("c.jsonl", False),
            ("d", False),
        ]
        with pytest.raises(Unreadable, match="symbolic link that leads out of the directory"):
            found[1].open(io.BytesIO())

    def test_a_pipe_in_small_pieces(self) -> None:
        class Dripping(io.BytesIO):
            def read(self, size: int | None = -1) -> bytes:
                return super().read(min(size or 0, 3))

        with files.File("-").open(Dripping(LINES)) as piped:
            assert [(item.line, item.content) for item in reading.items(piped)] == read(LINES)

    def test_a_file_that_fails_while_it_is_read(self, tmp_path: Path) -> None:
        feed = feeds.Files(["/proc/self/mem"], None)
        ((_, items),) = feed.parts()
        with pytest.raises(Unreadable, match="cannot be read: Input/output error"):
            list(items)

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(Unreadable, match="cannot be opened: No such file"):
            files.File(str(tmp_path / "none")).open(io.BytesIO())


def xml(submodel: bytes) -> bytes:
    """An environment with one shell and one submodel, `urn:sm`."""
    key = b"<key><type>Submodel</type><value>urn:sm</value></key>"
    return (
        b'<environment xmlns="%b"><assetAdministrationShells><assetAdministrationShell><id>urn:1</id>'
        b"<submodels><reference><type>ModelReference</type><keys>%b</keys></reference></submodels>"
        b"</assetAdministrationShell></assetAdministrationShells>\n<submodels><submodel>%b</submodel></submodels>"
        b"</environment>"
    ) % (NAMESPACE.encode(), key, submodel)


def package(parts: dict[str, bytes], target: str = "/aasx/data.xml") -> bytes:
    """An AASX package whose environment is said to be `target`."""
    relationships = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Id="r" Type="http://admin-shell.io/aasx/relationships/{}" Target="{}"/></Relationships>'
    )
    types = '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>'
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", types)
        archive.writestr("_rels/.rels", relationships.format("aasx-origin", "/aasx/aasx-origin"))
        archive.writestr("aasx/aasx-origin", "")
        archive.writestr("aasx/_rels/aasx-origin.rels", relationships.format("aas-spec", target))
        for name, part in parts.items():
            archive.writestr(name, part)
    return content.getvalue()
