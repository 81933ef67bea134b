"""What is wrong with a descriptor, and where."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Defect:
    """One thing wrong, at a JSON pointer (RFC 6901); the empty pointer is the whole document."""

    pointer: str
    text: str

    def __str__(self) -> str:
        return f"{self.pointer}: {self.text}" if self.pointer else self.text


class InvalidDescriptor(ValueError):
    """A descriptor has defects; `defects` has all of them, at least one."""

    def __init__(self, defects: list[Defect]) -> None:
        super().__init__("; ".join(map(str, defects[:3])))
        self.defects = defects
