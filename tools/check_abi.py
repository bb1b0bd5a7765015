#!/usr/bin/env python3
"""Whether programs that were built with an earlier header still work with this one (docs/abi.md).

    tools/check_abi.py [--write] [--root FOLDER] [--library LIBVOLTA.so ...]

api/abi/volta.txt and api/abi/volta_data.txt are what was promised last, a line for each function, field, constant and
type, of api/*.json without its texts. Nothing of them may go or change; new lines may come: functions, constants, and
fields at the end of a struct that begins with struct_size. --library: the libraries export what the headers declare, and
nothing else. --write: what the headers say now is what is promised from now on.

    tools/check_abi.py --stub NAME      C that defines every function of a header: what abidiff compares
"""

import argparse
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEADERS = ("volta", "volta_data")


def items(root, name):
    with open(os.path.join(root, "api", name + ".json"), encoding="utf-8") as file:
        for section in json.load(file)["sections"]:
            yield from section["items"]


def prototype(item):
    return f"{item['returns']} ({', '.join(one['type'] for one in item['parameters']) or 'void'})"


def lines(root, name):
    """One promise a line: kind, name, and what is promised of it."""
    for item in items(root, name):
        kind = item["kind"]
        if kind == "function":
            yield f"function {item['name']} {prototype(item)}"
        elif kind == "struct":
            for field in item["fields"]:
                yield f"field {item['name']}.{field['name']} {field['type']}"
        elif kind == "constants":
            if item.get("name"):
                yield f"type {item['name']} {item.get('type', 'int')}"
            for value in item["values"]:
                yield f"constant {value['name']} {value['value']}"
        elif kind == "handle":
            yield f"type {item['name']} handle"
        elif kind == "callback":
            yield f"type {item['name']} {item['type']}"


def parts(line):
    kind, name, rest = line.split(" ", 2)
    return kind, name, rest


def fields(all_lines):
    """struct -> its fields in order."""
    found = {}
    for line in all_lines:
        kind, name, rest = parts(line)
        if kind == "field":
            struct, field = name.split(".")
            found.setdefault(struct, []).append((field, rest))
    return found


def broken(old, new):
    """A sentence for each promise that does not hold any more."""
    now = {parts(line)[:2]: parts(line)[2] for line in new}
    for line in old:
        kind, name, rest = parts(line)
        if (kind, name) not in now:
            yield f"{kind} {name} is gone"
        elif now[kind, name] != rest:
            yield f"{kind} {name} was {rest}, it is {now[kind, name]}"
    structs = fields(new)
    for struct, before in fields(old).items():
        after = structs.get(struct, [])
        names = [name for name, _ in after]
        for place, (name, _) in enumerate(before):
            if name in names and names.index(name) != place:
                yield f"struct {struct}: field {name} was at place {place}, it is at {names.index(name)}"
                break
        if len(after) > len(before) and before[0][0] != "struct_size":
            yield f"struct {struct} has no struct_size, so it cannot have grown: {after[-1][0]} is new"


def exported(library):
    done = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
    names = {line.split()[-1].split("@")[0] for line in done.stdout.splitlines()}
    return {name for name in names if name.startswith("volta_")}


def stub(root, name):
    """A library of the header's functions and types, and nothing of the engine."""
    text = [f'#include "{name}.h"', "/* Every struct, also those that no function names. */"]
    for item in items(root, name):
        if item["kind"] == "struct":
            text.append(f"extern {item['name']} *{name}_layout_{item['name']};")
            text.append(f"VOLTA_API {item['name']} *{name}_layout_{item['name']};")
        if item["kind"] == "function":
            takes = []
            for one in item["parameters"]:
                kind = one["type"]
                if "(*)" in kind:
                    takes.append(kind.replace("(*)", f"(*{one['name']})", 1))
                else:
                    takes.append(f"{kind} {one['name']}")
            ends = "" if item["returns"] == "void" else " return 0; "
            unused = "".join(f"(void){one['name']};" for one in item["parameters"])
            text.append(f"{item['returns']} {item['name']}({', '.join(takes) or 'void'}) {{ {unused}{ends} }}")
    return "\n".join(text) + "\n"


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--root", default=ROOT)
    options.add_argument("--write", action="store_true")
    options.add_argument("--library", nargs="*", default=[])
    options.add_argument("--stub", choices=HEADERS)
    given = options.parse_args()
    if given.stub:
        sys.stdout.write(stub(given.root, given.stub))
        return 0
    wrong = []
    for name in HEADERS:
        path = os.path.join(given.root, "api", "abi", name + ".txt")
        new = list(lines(given.root, name))
        if given.write:
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(new) + "\n")
            continue
        with open(path, encoding="utf-8") as file:
            old = file.read().splitlines()
        wrong += [f"{name}.h: {sentence}" for sentence in broken(old, new)]
        for library in given.library:
            if f"lib{name}.so" not in os.path.basename(library):
                continue
            declared = {parts(line)[1] for line in new if line.startswith("function ")}
            has = exported(library)
            wrong += [f"{library} lacks {one}, which {name}.h declares" for one in sorted(declared - has)]
            wrong += [f"{library} exports {one}, which {name}.h does not declare" for one in sorted(has - declared)]
    for sentence in wrong:
        print(sentence)
    if not wrong and not given.write:
        print("what was promised holds")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
