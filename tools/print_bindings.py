#!/usr/bin/env python3
"""The mechanical half of each binding, printed from api/*.json: constants, structs, prototypes.

    tools/print_bindings.py [--write] [--root FOLDER]

Compares with what is committed; --write writes it. A language is a row of PRINTERS: a file and the function that prints it.
"""

import argparse
import json
import os
import re
import sys

import print_go

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEADERS = ("volta", "volta_data")
SOURCE = "Printed by tools/print_bindings.py from the descriptions in api/, which say what the headers say. Not edited by hand."


class Api:
    """Both headers: items by kind, in order, each with the header that it is in."""

    def __init__(self, root):
        self.items = {kind: [] for kind in ("function", "struct", "handle", "constants", "alias", "callback", "macro")}
        for header in HEADERS:
            with open(os.path.join(root, "api", header + ".json"), encoding="utf-8") as file:
                for section in json.load(file)["sections"]:
                    for item in section["items"]:
                        self.items[item["kind"]].append(dict(item, library=header))
        self.handles = {item["name"] for item in self.items["handle"]}
        self.structs = {item["name"] for item in self.items["struct"]}
        self.scalars = {item["name"]: item["type"] for kind in ("constants", "alias") for item in self.items[kind]
                        if "name" in item}

        self.callbacks = {item["name"]: item["type"] for item in self.items["callback"]}

    def base(self, name):
        """A name of the header for a number, as C's own."""
        return self.scalars.get(name, name)


# ---- Python: ctypes --------------------------------------------------------------------------------------------

PYTHON_NUMBERS = {"size_t": "c.c_size_t", "float": "c.c_float", "double": "c.c_double", "char": "c.c_char",
                  **{f"{u}int{bits}_t": f"c.c_{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)}}


def python_type(api, spelling, in_callback=False):
    """ctypes' name of a C type. Pointers to numbers are addresses: arrays, buffers and byref() all fit."""
    array = re.fullmatch(r"(.*)\[(\d+)\]", spelling)
    if array:
        return f"{python_type(api, array.group(1))} * {array.group(2)}"
    function = re.fullmatch(r"(.*)\(\*\)\((.*)\)", spelling)
    if function:
        parts = [function.group(1).strip(), *(p.strip() for p in function.group(2).split(","))]
        return "c.CFUNCTYPE(" + ", ".join(python_type(api, p, True) for p in parts) + ")"
    if spelling in api.callbacks:
        return python_type(api, api.callbacks[spelling])
    words = spelling.replace("const", " ").split()
    stars, name = spelling.count("*"), api.base(words[0])
    if stars == 0:
        return "None" if name == "void" else name if name in api.structs else PYTHON_NUMBERS[name]
    if stars == 1 and name in api.structs:
        return f"c.POINTER({name})"
    if name == "char" and stars == 1 and "const" in spelling and not in_callback:
        return "c.c_char_p"
    if name == "char" and stars == 2:
        return "c.POINTER(c.c_char_p)"
    return "c.c_void_p" if stars == 1 else "c.POINTER(c.c_void_p)"


def print_python(api):
    lines = [f'"""libvolta and libvolta_data as ctypes has them. {SOURCE}"""', "", "import ctypes as c", "from typing import Any", ""]
    for item in api.items["macro"]:
        if re.fullmatch(r"[0-9]+|0x[0-9a-f]+u?", item["value"]):
            lines.append(f"{item['name']} = {item['value'].rstrip('u')}")
    lines.append("")
    for group in api.items["constants"]:
        lines += [f"# {group['name']}"] if "name" in group else []
        lines += [f"{value['name']} = {value['value']}" for value in group["values"]]
        lines.append("")
    for item in api.items["struct"]:
        sized = item["fields"][0]["name"] == "struct_size"
        lines += ["", f"class {item['name']}(c.Structure):"]
        if sized:
            lines += ["    def __init__(self, **fields: Any) -> None:",
                      f"        super().__init__(struct_size=c.sizeof({item['name']}), **fields)", ""]
        lines.append("    _fields_ = [")
        lines += [f'        ("{field["name"]}", {python_type(api, field["type"])}),' for field in item["fields"]]
        lines += ["    ]", ""]
    for header in HEADERS:
        lines += ["", f"# name: (what it returns, of what), of lib{header}", f"{header.upper()}_FUNCTIONS = {{"]
        for item in api.items["function"]:
            if item["library"] == header:
                of = "".join(python_type(api, p["type"]) + ", " for p in item["parameters"])
                lines.append(f'    "{item["name"]}": ({python_type(api, item["returns"])}, ({of.rstrip() })),')
        lines.append("}")
    return "\n".join(lines) + "\n"


# ---- Rust: volta-sys -------------------------------------------------------------------------------------------

RUST_NUMBERS = {"size_t": "usize", "float": "f32", "double": "f64", "char": "c_char", "void": "c_void",
                **{f"{u}int{bits}_t": f"{'u' if u else 'i'}{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)}}
RUST_WORDS = {word: f"r#{word}" for word in ("type", "in", "use", "fn", "mod", "ref", "match", "move", "loop", "where")}


def rust_type(api, spelling):
    array = re.fullmatch(r"(.*)\[(\d+)\]", spelling)
    if array:
        return f"[{rust_type(api, array.group(1))}; {array.group(2)}]"
    function = re.fullmatch(r"(.*)\(\*\)\((.*)\)", spelling)
    if function:
        takes = ", ".join(rust_type(api, part.strip()) for part in function.group(2).split(","))
        return f'Option<unsafe extern "C" fn({takes}){rust_result(api, function.group(1).strip())}>'
    if spelling.rstrip().endswith(("*", "* const", "*const")):
        inner = spelling.rstrip()
        inner = inner[:-len("const")].rstrip() if inner.endswith("const") else inner
        inner = inner[:-1].rstrip()
        constant = inner.startswith("const ") if "*" not in inner else inner.endswith("const")
        return f"*{'const' if constant else 'mut'} {rust_type(api, inner)}"
    name = re.sub(r"\bconst\b", "", spelling).strip()
    return RUST_NUMBERS.get(name, name)


def rust_result(api, spelling):
    return "" if spelling == "void" else f" -> {rust_type(api, spelling)}"


def rust_text(item, indent=""):
    """The header's comment, as documentation."""
    lines = item.get("text", "").splitlines()
    for label, value in item.get("labels", {}).items():
        lines += ["", *f"{label}: {value}".splitlines()]
    return [f"{indent}/// {line}".rstrip().replace("[", "\\[").replace("]", "\\]") for line in lines]


def print_rust(api):
    lines = ["//! libvolta and libvolta_data as C has them: structs, constants, functions. The safe crate is `volta`.", "//!",
             f"//! {SOURCE}", "#![no_std]", "#![allow(non_camel_case_types, rustdoc::invalid_html_tags)]", "",
             "use core::ffi::c_void;", "", "/// The processor's `char` of C.", "pub type c_char = core::primitive::i8;", ""]
    for item in api.items["macro"]:
        if re.fullmatch(r"[0-9]+|0x[0-9a-f]+u?", item["value"]):
            lines += rust_text(item)
            kind = "u32" if item["value"].endswith("u") else "usize" if item["name"] == "VOLTA_MAX_RANK" else "i32"
            lines.append(f"pub const {item['name']}: {kind} = {item['value'].rstrip('u')};")
    for group in api.items["constants"]:
        lines.append("")
        if "name" in group:
            lines += rust_text(group) + [f"pub type {group['name']} = {RUST_NUMBERS[group['type']]};"]
        for value in group["values"]:
            kind = group.get("name") or ("i32" if value["value"] < 0 else "u32")
            lines += rust_text(value) + [f"pub const {value['name']}: {kind} = {value['value']};"]
    for item in api.items["handle"]:
        lines += ["", *rust_text(item), "#[repr(C)]", f"pub struct {item['name']} {{", "    _private: [u8; 0],", "}"]
    for item in api.items["callback"]:
        lines += ["", *rust_text(item), f"pub type {item['name']} = {rust_type(api, item['type'])};"]
    for item in api.items["struct"]:
        lines += ["", *rust_text(item), "#[repr(C)]", "#[derive(Clone, Copy)]", f"pub struct {item['name']} {{"]
        for field in item["fields"]:
            lines += rust_text(field, "    ")
            lines.append(f"    pub {RUST_WORDS.get(field['name'], field['name'])}: {rust_type(api, field['type'])},")
        lines += ["}", f"impl Default for {item['name']} {{",
                  "    /// Zeros, which are the defaults" + (", with the size." if item["fields"][0]["name"] == "struct_size" else "."),
                  "    fn default() -> Self {"]
        if item["fields"][0]["name"] == "struct_size":
            lines += ["        Self { struct_size: core::mem::size_of::<Self>(), ..unsafe { core::mem::zeroed() } }"]
        else:
            lines += ["        unsafe { core::mem::zeroed() }"]
        lines += ["    }", "}"]
    for header in HEADERS:
        lines += ["", f'#[link(name = "{header}")]', 'extern "C" {']
        for item in api.items["function"]:
            if item["library"] == header:
                takes = ", ".join(f"{RUST_WORDS.get(p['name'], p['name'])}: {rust_type(api, p['type'])}"
                                  for p in item["parameters"])
                lines += rust_text(item, "    ")
                lines.append(f"    pub fn {item['name']}({takes}){rust_result(api, item['returns'])};")
        lines.append("}")
    return "\n".join(lines) + "\n"


# ---- C: what the compiler makes of it ----------------------------------------------------------------------------

def print_layout(api):
    """A program that prints size and offsets of every struct, for the other side to compare with its own."""
    lines = [f"/* Size and offsets of every struct of the headers, one a line: NAME SIZE, NAME.FIELD OFFSET SIZE.", f" * {SOURCE} */",
             "#include <stdio.h>", "#include <volta_data.h>", "", "int main(void) {"]
    for item in api.items["struct"]:
        name = item["name"]
        lines.append(f'    printf("{name} %zu\\n", sizeof({name}));')
        for field in item["fields"]:
            of = f"{name}, {field['name']}"
            lines += [f'    printf("{name}.{field["name"]} %zu %zu\\n", offsetof({of}),',
                      f"           sizeof((({name} *)0)->{field['name']}));"]
    return "\n".join(lines + ["    return 0;", "}"]) + "\n"


def go(printer):
    return lambda api: printer(api, SOURCE)


PRINTERS = {"tests/bindings/layout.c": print_layout, "bindings/python/volta/native.py": print_python,
            "bindings/rust/volta-sys/src/lib.rs": print_rust, "bindings/go/sys/sys.go": go(print_go.print_sys),
            "bindings/go/sys/every_test.go": go(print_go.print_every), "bindings/go/names.go": go(print_go.print_names)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=ROOT, metavar="FOLDER", help="the tree (default: this one)")
    parser.add_argument("--write", action="store_true", help="write the files instead of comparing")
    arguments = parser.parse_args()
    api, status = Api(arguments.root), 0
    for name, printer in PRINTERS.items():
        path, text = os.path.join(arguments.root, name), printer(api)
        if arguments.write:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            continue
        known = ""
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                known = file.read()
        if known != text:
            print(f"{name} is not what the headers say: run tools/print_bindings.py --write", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
