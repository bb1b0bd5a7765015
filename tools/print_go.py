"""Go's half of print_bindings.py: package sys, the libraries as C has them, a test that calls every function with nothing,
and the names that package volta takes over from it. What is printed is laid out as gofmt lays it out."""

import re

NUMBERS = {"size_t": "uint", "float": "float32", "double": "float64", "char": "byte",
           **{f"{u}int{bits}_t": f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)}}
WORDS = {"type", "range", "func", "map", "chan", "var", "go", "select", "defer", "import", "package", "interface"}


def camel(name):
    """volta_gpt_options: GptOptions. VOLTA_LOSS_MSE: LossMse."""
    words = re.sub("^(volta|VOLTA)_", "", name).lower().split("_")
    return "OK" if words == ["ok"] else "".join(word[:1].upper() + word[1:] for word in words)


def lower(name):
    name = camel(name)
    name = name[:1].lower() + name[1:]
    return name + "_" if name in WORDS else name


def go_type(api, spelling):
    """Go's name of a C type. Functions and memory of no type are unsafe.Pointer."""
    array = re.fullmatch(r"(.*)\[(\d+)\]", spelling)
    if array:
        return f"[{array.group(2)}]{go_type(api, array.group(1))}"
    if "(*)" in spelling or spelling in api.callbacks:
        return "unsafe.Pointer"
    stars, name = spelling.count("*"), spelling.replace("const", " ").replace("*", " ").split()[0]
    if name == "void":
        return "*" * (stars - 1) + "unsafe.Pointer" if stars else ""
    return "*" * stars + NUMBERS.get(name, camel(name) if name.startswith("volta_") else name)


def as_c(api, spelling, name):
    """A Go argument as cgo takes it."""
    stars, base = spelling.count("*"), spelling.replace("const", " ").replace("*", " ").split()[0]
    if base == "void" and stars == 1:
        return name
    if stars:
        return f"({'*' * stars}C.{base})(unsafe.Pointer({name}))"
    if base in api.structs:
        return f"*(*C.{base})(unsafe.Pointer(&{name}))"
    return f"C.{base}({name})"


def comment(item, indent="", first=None):
    """The header's comment, each label a paragraph. No line is indented, so that gofmt leaves all of them."""
    paragraphs = [[first]] if first else []
    if item.get("text"):
        paragraphs.append(item["text"].splitlines())
    paragraphs += [f"{label}: {text}".splitlines() for label, text in item.get("labels", {}).items()]
    lines = []
    for paragraph in paragraphs:
        lines += ([""] if lines else []) + [line.strip() for line in paragraph if line.strip()]
    return [f"{indent}// {line}".rstrip() for line in lines]


def aligned(rows, indent="\t"):
    """Rows of cells, each column as wide as its widest cell between two comments; a row that is a text is a comment."""
    lines, run = [], []

    def flush():
        widths = [max(len(row[i]) for row in run if i < len(row)) for i in range(max(map(len, run), default=0))]
        for row in run:
            cells = [cell.ljust(width) for cell, width in zip(row, widths)]
            lines.append((indent + " ".join(cells)).rstrip())
        run.clear()

    for row in rows:
        if isinstance(row, str):
            flush()
            lines.append(row)
        else:
            run.append(row)
    flush()
    return lines


def constants(api):
    """(group, [(name, type or "", value, item)]), macros that are numbers first."""
    macros = [(camel(item["name"]), "", item["value"].rstrip("u"), item) for item in api.items["macro"]
              if re.fullmatch(r"[0-9]+|0x[0-9a-f]+u?", item["value"])]
    groups = [({}, macros)]
    for group in api.items["constants"]:
        kind = camel(group["name"]) if "name" in group else ""
        groups.append((group, [(camel(value["name"]), kind, str(value["value"]), value) for value in group["values"]]))
    return groups


def print_sys(api, source):
    lines = ["// Package sys is libvolta and libvolta_data as C has them: structs, constants, functions. Package volta is the safe one.",
             "//", "// No Go memory may be kept by C: what a struct points to is C's (Malloc, TextOf).", "//",
             f"// {source}", "package sys", "", "// #cgo pkg-config: volta volta_data", "// #include <volta_data.h>", 'import "C"', "",
             'import "unsafe"', ""]
    for group, values in constants(api):
        if "name" in group:
            lines += comment(group, "", f"{camel(group['name'])} is {group['name']}.")
            lines += [f"type {camel(group['name'])} {NUMBERS[group['type']]}", ""]
        rows = []
        for name, kind, value, item in values:
            rows += comment(item, "\t")
            rows.append([name, kind, f"= {value}"] if kind else [name, f"= {value}"])
        lines += ["const (", *aligned(rows), ")", ""]
    for item in api.items["handle"]:
        lines += comment(item, "", f"{camel(item['name'])} is {item['name']}, which C alone makes and ends.")
        lines += [f"type {camel(item['name'])} struct{{ _ [0]byte }}", ""]
    for item in api.items["struct"]:
        rows = []
        for field in item["fields"]:
            rows += comment(field, "\t")
            rows.append([camel(field["name"]), go_type(api, field["type"])])
        lines += comment(item, "", f"{camel(item['name'])} is {item['name']}.")
        lines += [f"type {camel(item['name'])} struct {{", *aligned(rows), "}", ""]
    for item in api.items["function"]:
        takes = ", ".join(f"{lower(p['name'])} {go_type(api, p['type'])}" for p in item["parameters"])
        call = f"C.{item['name']}(" + ", ".join(as_c(api, p["type"], lower(p["name"])) for p in item["parameters"]) + ")"
        returns = go_type(api, item["returns"])
        if returns:
            call = f"return ({returns})(unsafe.Pointer({call}))" if "*" in item["returns"] and "void" not in item["returns"] else \
                f"return {call}" if "*" in item["returns"] else f"return {returns}({call})"
        lines += comment(item, "", f"{camel(item['name'])} is {item['name']}.")
        lines += [f"func {camel(item['name'])}({takes}){' ' + returns if returns else ''} {{", f"\t{call}", "}", ""]
    return "\n".join(lines[:-1]) + "\n"


def print_every(api, source):
    """A test that calls each function with NULL and 0, and one that compares each struct with the compiler's."""
    lines = ["package sys", "", f"// {source}", "", 'import (', '\t"testing"', '\t"unsafe"', ")", "",
             "// Every function, of no arguments: NULL and 0. A status, or -1 where the function gives none.",
             "var every = []struct {", "\tname string", "\tcall func() Status", "}{"]
    for item in api.items["function"]:
        nothing = []
        for p in item["parameters"]:
            kind = go_type(api, p["type"])
            nothing.append(f"{kind}{{}}" if p["type"] in api.structs else "nil" if "*" in kind or kind == "unsafe.Pointer" else "0")
        call = f"{camel(item['name'])}({', '.join(nothing)})"
        if item["returns"] == "volta_status":
            lines.append(f'\t{{"{item["name"]}", func() Status {{ return {call} }}}},')
        else:
            lines.append(f'\t{{"{item["name"]}", func() Status {{ {call}; return -1 }}}},')
    lines += ["}", "", "// Size and offsets as Go has them, in the words of tests/bindings/layout.c.", "var layout = map[string][]uintptr{"]
    rows = []
    for item in api.items["struct"]:
        name = camel(item["name"])
        rows.append([f'"{item["name"]}":', f"{{unsafe.Sizeof({name}{{}})}},"])
        for field in item["fields"]:
            of = f"{name}{{}}.{camel(field['name'])}"
            rows.append([f'"{item["name"]}.{field["name"]}":', f"{{unsafe.Offsetof({of}), unsafe.Sizeof({of})}},"])
    lines += aligned(rows) + ["}", "", "func TestEveryFunctionTakesNothing(t *testing.T) {", "\tfor _, function := range every {",
                              "\t\tcheckNothing(t, function.name, function.call)", "\t}", "}"]
    return "\n".join(lines) + "\n"


def print_names(api, source):
    """Constants, and structs without pointers, as names of package volta."""
    lines = ["package volta", "", f"// {source}", "", 'import "volta/sys"', "", "// Numbers of the headers.", "type ("]
    lines += aligned([[camel(group["name"]), f"= sys.{camel(group['name'])}"] for group, _ in constants(api) if "name" in group])
    lines += [")", "", "// Structs of the headers that hold numbers alone; their StructSize is filled in by whoever takes them.", "type ("]
    plain = [item for item in api.items["struct"] if all(
        not go_type(api, f["type"]).startswith("*") and "unsafe" not in go_type(api, f["type"]) and "]byte" not in go_type(api, f["type"])
        for f in item["fields"])]
    lines += aligned([[camel(item["name"]), f"= sys.{camel(item['name'])}"] for item in plain if item["name"] != "volta_cancel"])
    lines += [")", "", "// Constants of the headers, which say what they mean.", "const ("]
    lines += aligned([[name, f"= sys.{name}"] for _, values in constants(api) for name, _, _, _ in values])
    return "\n".join(lines + [")"]) + "\n"
