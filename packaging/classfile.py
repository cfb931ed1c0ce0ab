"""Read Java class files (JVM specification, chapters 4 and 6.5): constants, and what methods do with texts, numbers and calls."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from archives import BuildError

Step = tuple[str, Any]  # text, number, arithmetic: the value; call: (class, method); get, put: the field; type: a name of ConfigDef.Type

# Bytes after an opcode, where there are any; tableswitch, lookupswitch and wide are reckoned in `instructions`.
OPERANDS = dict.fromkeys([0x10, 0x12, *range(0x15, 0x1A), *range(0x36, 0x3B), 0xA9, 0xBC], 1)
OPERANDS |= dict.fromkeys([0x11, 0x13, 0x14, 0x84, *range(0x99, 0xA9), *range(0xB2, 0xB9), 0xBB, 0xBD, 0xC0, 0xC1, 0xC6, 0xC7], 2)
OPERANDS |= {0xC5: 3, 0xB9: 4, 0xBA: 4, 0xC8: 4, 0xC9: 4}
# Constants of a fixed size: their tag, and how they are written.
CONSTANTS = {3: ">i", 4: ">f", 5: ">q", 6: ">d", 7: ">H", 8: ">H", 9: ">HH", 10: ">HH", 11: ">HH", 12: ">HH", 15: ">BH", 16: ">H", 17: ">HH"}
CONSTANTS |= {18: ">HH", 19: ">H", 20: ">H"}


class JavaClass:
    """A class file: its constants, and of each method what it does with texts, numbers, fields and calls."""

    def __init__(self, data: bytes) -> None:
        """`data` is the whole file."""
        self.data = data
        self.pool: list[tuple[int, Any]] = [(0, None)]
        (count,), at = struct.unpack_from(">H", data, 8), 10
        while len(self.pool) < count:
            tag = data[at]
            if tag == 1:
                (length,) = struct.unpack_from(">H", data, at + 1)
                self.pool.append((tag, data[at + 3 : at + 3 + length].decode("utf-8", "replace")))
                at += 3 + length
                continue
            value = struct.unpack_from(CONSTANTS[tag], data, at + 1)
            at += 1 + struct.calcsize(CONSTANTS[tag])
            self.pool += [(tag, value if len(value) > 1 else value[0])] + [(0, None)] * (tag in (5, 6))  # long and double take two places
        self.name = self.constant(self.pool[struct.unpack_from(">H", data, at + 2)[0]][1])
        self.end_of_pool = at

    def constant(self, index: int) -> Any:
        """Return a number, or the text that a constant stands for."""
        tag, value = self.pool[index]
        return self.constant(value) if tag in (7, 8, 16, 19, 20) else value

    def texts(self) -> list[str]:
        """Return all string constants."""
        return [self.constant(index) for index, (tag, _) in enumerate(self.pool) if tag == 8]

    @cached_property
    def methods(self) -> dict[str, list[Step]]:
        """Return the steps of each method, overloads joined."""
        found: dict[str, list[Step]] = {}
        (interfaces,) = struct.unpack_from(">H", self.data, self.end_of_pool + 6)
        at = self.end_of_pool + 8 + 2 * interfaces
        for _ in ("fields", "methods"):
            (members,), at = struct.unpack_from(">H", self.data, at), at + 2
            for _ in range(members):
                _, name, _, attributes = struct.unpack_from(">HHHH", self.data, at)
                at += 8
                for _ in range(attributes):
                    kind, length = struct.unpack_from(">HI", self.data, at)
                    if self.constant(kind) == "Code":
                        (size,) = struct.unpack_from(">I", self.data, at + 10)
                        found.setdefault(self.constant(name), []).extend(self.steps(self.data[at + 14 : at + 14 + size]))
                    at += 6 + length
        return found

    @staticmethod
    def instructions(code: bytes) -> Iterator[tuple[int, bytes]]:
        """Yield each opcode with its operands."""
        at = 0
        while at < len(code):
            opcode, begin = code[at], at + 1
            if opcode == 0xAA:
                at += 4 - at % 4
                low, high = struct.unpack_from(">ii", code, at + 4)
                at += 12 + 4 * (high - low + 1)
            elif opcode == 0xAB:
                at += 4 - at % 4
                (pairs,) = struct.unpack_from(">i", code, at + 4)
                at += 8 + 8 * pairs
            else:
                at = begin + ((5 if code[begin] == 0x84 else 3) if opcode == 0xC4 else OPERANDS.get(opcode, 0))
            yield opcode, code[begin:at]

    def steps(self, code: bytes) -> Iterator[Step]:
        """Yield what concerns names and values, in the order of the code; branches are not followed."""
        for opcode, operands in self.instructions(code):
            number = int.from_bytes(operands[:2], "big")
            if opcode in (0x12, 0x13, 0x14):
                tag, value = self.pool[number][0], self.constant(number)
                if tag in (3, 4, 5, 6, 8):
                    yield "text" if tag == 8 else "number", value
            elif 0x02 <= opcode <= 0x0A:  # iconst_m1 to lconst_1
                yield "number", opcode - (0x03 if opcode < 0x09 else 0x09)
            elif 0x60 <= opcode <= 0x83:
                yield "arithmetic", opcode
            elif opcode in (0x10, 0x11):
                yield "number", int.from_bytes(operands, "big", signed=True)
            elif 0xB2 <= opcode <= 0xB9:
                owner, member = self.pool[number][1]
                name, descriptor = (self.constant(index) for index in self.pool[member][1])
                if opcode >= 0xB6:
                    yield "call", (self.constant(owner), name)
                elif descriptor.endswith("ConfigDef$Type;"):
                    yield "type", name.lower()
                else:
                    yield "get" if opcode in (0xB2, 0xB4) else "put", name


def classes(jars: Sequence[Path], *marks: bytes) -> Iterator[JavaClass]:
    """Yield the classes that hold one of the marks."""
    for jar in jars:
        with zipfile.ZipFile(jar) as archive:
            for name in sorted(archive.namelist()):
                if name.endswith(".class") and any(mark in data for data in [archive.read(name)] for mark in marks):
                    yield JavaClass(archive.read(name))


def read_class(jars: Sequence[Path], name: str) -> JavaClass:
    """Return one class."""
    for jar in jars:
        with zipfile.ZipFile(jar) as archive:
            if f"{name}.class" in archive.namelist():
                return JavaClass(archive.read(f"{name}.class"))
    raise BuildError(f"no jar holds {name}: find out what this version has in its place")
