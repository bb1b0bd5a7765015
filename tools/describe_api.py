#!/usr/bin/env python3
"""One description of the public headers, from which bindings and reference pages are printed.

    tools/describe_api.py [--write] [--root FOLDER]

Reads include/volta.h and include/volta_data.h by clang's own parser and compares with api/volta.json and
api/volta_data.json, which are committed; --write writes them. A description is the header from top to bottom: sections
of items, each a function, a struct, a handle, a group of constants, a callback or a macro, with its comment and the
labels in it (Shape, Owns, Thread, Cost, Errors ...). Types are C's own spelling.
"""

import argparse
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEADERS = ("volta", "volta_data")
LABELS = ("Shape", "Units", "Owns", "Keeps", "Lends", "Thread", "Cost", "Errors")
COMMENT = re.compile(r"/\*.*?\*/", re.S)


class Mismatch(Exception):
    """What the header has and this tool does not understand; one line."""


def parsed(path):
    """clang's declarations of the header itself, in its order."""
    done = subprocess.run(["clang", "-std=c99", "-fsyntax-only", "-Xclang", "-ast-dump=json", "-x", "c", path],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Mismatch((done.stderr.strip().splitlines() or ["clang failed"])[0])
    file, found = None, []
    for node in json.loads(done.stdout)["inner"]:
        place = node.get("loc", {})
        place = place.get("expansionLoc", place)
        file = place.get("file", file)  # clang names a file only where it changes
        if file == path:
            found.append(node)
    return found


def span(node, side):
    place = node["range"][side]
    place = place.get("expansionLoc", place)
    return place["offset"] + (place.get("tokLen", 0) if side == "end" else 0)


def words(comment):
    """The text of a comment: without its stars, lines kept."""
    lines = [re.sub(r"^\s*\* ?", "", line).rstrip() for line in comment[2:-2].splitlines()]
    while lines and not lines[0].strip():
        lines.pop(0)
    while lines and not lines[-1].strip():
        lines.pop()
    return "\n".join(line if i else line.lstrip() for i, line in enumerate(lines))


def labelled(text):
    """(text before the first label, {label: its text})."""
    pieces, label, labels = [], None, {}
    for line in text.splitlines():
        found = re.match(r"\s*(%s):\s*(.*)" % "|".join(LABELS), line)
        if found:
            label = found.group(1)
            labels[label] = found.group(2)
        elif label:
            labels[label] += "\n" + line.strip()
        else:
            pieces.append(line)
    return "\n".join(pieces).strip(), {name: value.strip() for name, value in labels.items()}


class Header:
    def __init__(self, root, name):
        self.name = name
        self.path = os.path.join(root, "include", name + ".h")
        with open(self.path, encoding="utf-8") as file:
            self.text = file.read()
        self.comments = [(m.start(), m.end()) for m in COMMENT.finditer(self.text)]
        self.sections = [(m.start(), m.group(1).strip()) for m in re.finditer(r"/\* ---- (.*?)-+ \*/", self.text)]

    def comment_before(self, offset):
        """The one that ends right in front of a declaration."""
        for begin, end in self.comments:
            between = self.text[end:offset]
            if end <= offset and not between.strip() and between.count("\n") == 1:
                text = self.text[begin:end]
                return "" if text.startswith("/* ----") else words(text)
        return ""

    def comment_behind(self, offset):
        """The one on the line of a field or constant, or that begins there; fields of one declaration share theirs."""
        line_end = self.text.find("\n", offset)
        for begin, end in self.comments:
            if offset <= begin < line_end and re.fullmatch(r"(, \w+)*[ ,;]*", self.text[offset:begin]):
                return " ".join(words(self.text[begin:end]).split())
        return ""

    def comment_above(self, offset):
        """The one on lines of its own right in front of a field."""
        for begin, end in self.comments:
            if end <= offset and not self.text[end:offset].strip() and not self.text[self.text.rfind("\n", 0, begin):begin].strip():
                return " ".join(words(self.text[begin:end]).split())
        return ""

    def comment_above(self, offset):
        """The one on lines of its own that ends right in front of a field."""
        for begin, end in self.comments:
            between = self.text[end:offset]
            line = self.text[self.text.rfind("\n", 0, begin) + 1:begin]
            if end <= offset and not between.strip() and between.count("\n") == 1 and not line.strip():
                return " ".join(words(self.text[begin:end]).split())
        return ""

    def about(self, offset):
        text, labels = labelled(self.comment_before(offset))
        item = {}
        if text:
            item["text"] = text
        if labels:
            item["labels"] = labels
        return item

    # ---- Items: (offset, item)

    def function(self, node):
        parameters = [{"name": p["name"], "type": p["type"]["qualType"]}
                      for p in node.get("inner", []) if p["kind"] == "ParmVarDecl"]
        returns = node["type"]["qualType"].split("(")[0].strip()
        begin = span(node, "begin")
        return begin, {"kind": "function", "name": node["name"], "returns": returns, "parameters": parameters,
                       **self.about(begin)}

    def struct(self, record, typedef):
        begin, fields, pending = span(record, "begin"), [], {}
        # Where the typedef opens with the record, its comment stands before both.
        begin = span(typedef, "begin") if typedef else begin
        for node in record["inner"]:
            if node["kind"] == "RecordDecl":
                pending[node.get("name", "")] = node
                continue
            if node["kind"] != "FieldDecl":
                continue
            field = {"name": node["name"], "type": node["type"]["qualType"]}
            comment = self.comment_behind(span(node, "end")) or self.comment_above(span(node, "begin"))
            if comment:
                field["text"] = comment
            fields.append(field)
        if pending:
            raise Mismatch(f"{typedef['name']} has structs inside")
        return begin, {"kind": "struct", "name": typedef["name"], "fields": fields, **self.about(begin)}

    def constants(self, node, typedef):
        begin = span(node, "begin")
        values, value = [], -1
        for each in node["inner"]:
            constant = next((x for x in each.get("inner", []) if x["kind"] == "ConstantExpr"), None)
            value = int(constant["value"]) if constant else value + 1
            one = {"name": each["name"], "value": value}
            comment = self.comment_behind(span(each, "end"))
            if comment:
                one["text"] = comment
            values.append(one)
        item = {"kind": "constants", "values": values}
        if typedef:
            item = {"kind": "constants", "name": typedef["name"], "type": typedef["type"]["qualType"], "values": values,
                    **self.about(span(typedef, "begin"))}
            return span(typedef, "begin"), item
        return begin, {**item, **self.about(begin)}

    def items(self):
        found, nodes, i = [], parsed(self.path), 0
        records = {}
        while i < len(nodes):
            node, after = nodes[i], nodes[i + 1] if i + 1 < len(nodes) else None
            if node["kind"] == "FunctionDecl":
                found.append(self.function(node))
            elif node["kind"] == "RecordDecl":
                records[node["name"]] = node
            elif node["kind"] == "EnumDecl":
                found.append(self.constants(node, None))
            elif node["kind"] == "TypedefDecl":
                spelling = node["type"]["qualType"]
                if spelling.startswith("struct "):
                    record = records.get(spelling[len("struct "):])
                    begin = span(node, "begin")
                    if record is not None and "inner" in record:
                        found.append(self.struct(record, node))
                    else:
                        found.append((begin, {"kind": "handle", "name": node["name"], **self.about(begin)}))
                elif "(*)" in spelling:
                    begin = span(node, "begin")
                    found.append((begin, {"kind": "callback", "name": node["name"], "type": spelling,
                                          **self.about(begin)}))
                elif after is not None and after["kind"] == "EnumDecl":
                    found.append(self.constants(after, node))
                    i += 1
                else:
                    begin = span(node, "begin")
                    found.append((begin, {"kind": "alias", "name": node["name"], "type": spelling, **self.about(begin)}))
            else:
                raise Mismatch(f"a declaration of the kind {node['kind']}: {node.get('name')}")
            i += 1
        for macro in re.finditer(r"^#define (VOLTA_\w+)[ \\\n]+([^\n]+?)[ ]*(?:/\*.*)?$", self.text, re.M):
            name, value = macro.groups()
            if name == "VOLTA_API" or name.endswith("_H"):
                continue
            item = {"kind": "macro", "name": name, "value": " ".join(value.split())}
            comment = self.comment_behind(macro.start(2) + len(value))
            if comment:
                item["text"] = comment
            found.append((macro.start(), item))
        return sorted(found, key=lambda pair: pair[0])

    def describe(self):
        with_title = [{"title": title, "items": []} for _, title in self.sections]
        for offset, item in self.items():
            index = sum(1 for begin, _ in self.sections if begin < offset) - 1
            if index < 0:
                raise Mismatch(f"{item.get('name')} stands before the first section")
            with_title[index]["items"].append(item)
        return {"header": self.name + ".h", "text": words(self.text[self.comments[0][0]:self.comments[0][1]]),
                "sections": [section for section in with_title if section["items"]]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=ROOT, metavar="FOLDER", help="the tree (default: this one)")
    parser.add_argument("--write", action="store_true", help="write the descriptions instead of comparing")
    arguments = parser.parse_args()
    status = 0
    for name in HEADERS:
        path = os.path.join(arguments.root, "api", name + ".json")
        try:
            text = json.dumps(Header(arguments.root, name).describe(), indent=1, ensure_ascii=False) + "\n"
        except Mismatch as error:
            print(f"include/{name}.h: {error}", file=sys.stderr)
            return 1
        if arguments.write:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            continue
        known = ""
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                known = file.read()
        if known != text:
            print(f"api/{name}.json is not what include/{name}.h says: run tools/describe_api.py --write", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
