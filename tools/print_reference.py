#!/usr/bin/env python3
"""The API reference of the manual, docs/reference/*.md, printed from api/*.json: a page per section of the headers.

    tools/print_reference.py [--write] [--root FOLDER]

Compares with what is committed; --write writes it. Texts are the headers' own; what is added are links between names, the
defaults of options in a column of their own, and what each error means.
"""

import argparse
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEADERS = ("volta", "volta_data")
FOLDER = os.path.join("docs", "reference")
SOURCE = "<!-- Printed by tools/print_reference.py from api/*.json, which say what the headers say. Not edited by hand. -->"
# The order of the labels, which is the order of what one asks.
LABELS = ("Shape", "Units", "Owns", "Keeps", "Lends", "Thread", "Cost")


def slug(title):
    return re.sub(r"[^a-z0-9]+", "_", title.split(":")[0].lower()).strip("_")


def heading(item):
    """What an item is called; a group of constants without a name is called as its first one."""
    return item.get("name") or item["values"][0]["name"]


class Page:
    def __init__(self, header, section):
        self.header, self.title, self.items = header, section["title"], section["items"]
        name = slug(section["title"])
        self.file = ("" if header == "volta" else "data_") + name + ".md"


class Reference:
    def __init__(self, root):
        self.texts, self.pages, self.place, self.zero, self.statuses = {}, [], {}, {}, set()
        for header in HEADERS:
            with open(os.path.join(root, "api", header + ".json"), encoding="utf-8") as file:
                description = json.load(file)
            self.texts[header] = description["text"]
            self.pages += [Page(header, section) for section in description["sections"]]
        for page in self.pages:
            for item in page.items:
                if item["kind"] == "macro" and item["name"].endswith("_INIT"):  # an initialiser is of its struct
                    self.place[item["name"]] = (page, item["name"][:-len("_INIT")].lower())
                    continue
                for name in [heading(item)] + [value["name"] for value in item.get("values", [])]:
                    self.place[name] = (page, heading(item))
                if item["kind"] == "constants" and "name" in item:
                    first = [value["name"] for value in item["values"] if value["value"] == 0]
                    self.zero[item["name"]] = first[0] if first else "0"
                if item.get("name") == "volta_status":
                    self.statuses = {value["name"][len("VOLTA_"):] for value in item["values"]}

    # ---- Text

    def link(self, name, page, shown=None):
        if name not in self.place:
            return f"`{shown or name}`"
        there, title = self.place[name]
        file = "" if there is page else there.file
        return f"[`{shown or name}`]({file}#{title.lower()})"

    def prose(self, text, page):
        """Words of the header as Markdown: names become links, and nothing else of them is markup."""
        parts = re.split(r"(`[^`]*`|\b(?:volta_|VOLTA_)\w+)", text)
        out = []
        for part in parts:
            if part.startswith("`"):
                out.append(part)
            elif re.fullmatch(r"(volta_|VOLTA_)\w+", part):
                out.append(self.link(part, page))
            else:
                out.append(re.sub(r"([*<\[\]|])", lambda m: {"<": "&lt;", "|": "&#124;"}.get(m.group(1), "\\" + m.group(1)), part))
        return re.sub(r"\bdocs/([a-z_]+)\.md\b", r"[docs/\1.md](../\1.md)", "".join(out))

    def paragraphs(self, text, page):
        """Paragraphs; lines that are indented are a table of the header's and stay one."""
        out, block, table = [], [], []

        def flush():
            if block:
                out.extend([self.prose(" ".join(block), page), ""])
            if table:
                out.extend(["```text", *table, "```", ""])
            block.clear()
            table.clear()

        for line in text.splitlines():
            if not line.strip():
                flush()
            elif line.startswith("  "):
                if block:
                    flush()
                table.append(line)
            else:
                if table:
                    flush()
                block.append(line)
        flush()
        return out

    def errors(self, text, page):
        """(statuses, when) of a label Errors. Lines that go on belong to the one before."""
        rows = []
        names = "|".join(sorted(self.statuses, key=len, reverse=True))
        for line in re.sub(r"; (?=(%s)\b)" % names, "\n", text).splitlines():
            found = re.match(r"((?:%s)(?:, (?:%s))*)\b\s*(.*)" % (names, names), line)
            if found:
                rows.append([found.group(1).split(", "), found.group(2)])
            elif rows:
                rows[-1][1] += " " + line
            else:
                rows.append([[], line])
        return [(", ".join(self.link("VOLTA_" + name, page, name) for name in found) or "any", self.prose(when.strip() or "as its name says", page))
                for found, when in rows]

    # ---- Items

    def labels(self, item, page):
        labels, out = item.get("labels", {}), []
        rows = [f"- **{name}**: {self.prose(' '.join(labels[name].split()), page)}" for name in LABELS if name in labels]
        if rows:
            out += rows + [""]
        if "Errors" in labels:
            out += ["| error | when |", "|---|---|"]
            out += [f"| {status} | {when} |" for status, when in self.errors(labels["Errors"], page)] + [""]
        return out

    def function(self, item, page):
        parameters = [p["type"] + ("" if p["type"].endswith("*") else " ") + p["name"] for p in item["parameters"]]
        call = f"{item['returns']}{'' if item['returns'].endswith('*') else ' '}{item['name']}("
        line = call + (", ".join(parameters) or "void") + ");"
        if len(line) > 100:
            line = call + "\n    " + ",\n    ".join(parameters) + ");"
        return ["```text", line, "```", ""] + self.paragraphs(item.get("text", ""), page) + self.labels(item, page)

    def default(self, field):
        """What a field of options is where it is zero."""
        kind, text = field["type"], field.get("text", "")
        if field["name"] == "struct_size":
            return "`sizeof`, set by the initialiser"
        if "required" in text.split("; ")[0].split(". ")[0] and "required for" not in text:
            return "required"
        said = re.search(r"(?:^|[;:.] |\. |, )(?:0|NULL): (.+?)(?=; |\. |\.?$)", text)
        if said:
            return said.group(1)
        if kind in self.zero:
            return self.zero[kind]
        return "NULL" if "*" in kind else "0"

    def struct(self, item, page):
        options = item["name"].endswith("_options")
        out = self.paragraphs(item.get("text", ""), page) + self.labels(item, page)
        out += ["| field | type |" + (" default |" if options else "") + " meaning |", "|---|---|" + ("---|" if options else "") + "---|"]
        for field in item["fields"]:
            kind = field["type"].replace("|", "&#124;")
            kind = self.link(kind, page) if kind in self.place else f"`{kind}`"
            row = f"| `{field['name']}` | {kind} |"
            if options:
                row += f" {self.prose(self.default(field), page)} |"
            out.append(row + f" {self.prose(field.get('text', ''), page)} |".replace("  ", " "))
        out.append("")
        if item["name"].upper() + "_INIT" in self.initialisers:
            out += [f"Initialiser: `{item['name']} x = {item['name'].upper()}_INIT;`", ""]
        return out

    def constants(self, item, page):
        out = self.paragraphs(item.get("text", ""), page) + self.labels(item, page)
        out += ["| constant | value | meaning |", "|---|---:|---|"]
        out += [f"| `{value['name']}` | {value['value']} | {self.prose(value.get('text', ''), page)} |".replace("|  |", "| |")
                for value in item["values"]]
        return out + [""]

    def handle(self, item, page):
        users = [f["name"] for p in self.pages for f in p.items if f["kind"] == "function" and f["parameters"]
                 and f["parameters"][0]["type"].replace("const ", "").rstrip(" *") == item["name"]]
        return self.paragraphs(item.get("text", ""), page) + self.labels(item, page) + [
            "A handle. Functions that take it first: " + ", ".join(self.link(name, page) for name in users) + ".", ""]

    def callback(self, item, page):
        return ["```text", f"typedef {item['type'].replace('(*)', '(*' + item['name'] + ')')};", "```", ""] + \
            self.paragraphs(item.get("text", ""), page)

    def macro(self, item, page):
        return [f"`{item['value']}`. {self.prose(item.get('text', ''), page)}".rstrip(), ""]

    # ---- Pages

    def print_page(self, page):
        out = [SOURCE, "", f"# {page.title}", "", f"`#include <{page.header}.h>`", ""]
        for item in page.items:
            if item["kind"] == "macro" and item["name"].endswith("_INIT"):
                continue
            out += [f"## {heading(item)}", ""] + getattr(self, item["kind"])(item, page)
        return "\n".join(out).rstrip() + "\n"

    def print_index(self):
        out = [SOURCE, "", "# API reference", "",
               "Every function, struct and constant of `volta.h` and `volta_data.h`, section by section in the order of learning, with "
               "the labels of the headers: what shapes are, who owns what, from which threads a call may come, what it costs, "
               "and which statuses it reports when. [All names](#all-names) are below."]
        for header in HEADERS:
            out += ["", f"## {header}.h", "", "| section | what it has |", "|---|---|"]
            for page in self.pages:
                if page.header == header:
                    names = [item["name"] for item in page.items if item["kind"] == "function"]
                    names = names or [heading(item) for item in page.items if item["kind"] == "struct"]
                    shown = ", ".join(f"[`{name}`]({page.file}#{name})" for name in names[:4]) + (", ..." if len(names) > 4 else "")
                    out.append(f"| [{page.title}]({page.file}) | {shown} |")
            out += ["", f"What holds for all of `{header}.h`:", ""] + ["```text", *self.texts[header].splitlines()[2:], "```"]
        out += ["", "## All names", ""]
        names = sorted(name for name, (page, title) in self.place.items() if not name.endswith("_INIT"))
        out += [f"- {self.link(name, None)}" for name in names]
        return "\n".join(out) + "\n"

    def print_all(self):
        self.initialisers = {item["name"] for page in self.pages for item in page.items if item["kind"] == "macro"}
        files = {page.file: self.print_page(page) for page in self.pages}
        if len(files) != len(self.pages):
            raise SystemExit("two sections have one page: give one another title")
        files["index.md"] = self.print_index()
        return files


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=ROOT, metavar="FOLDER", help="the tree (default: this one)")
    parser.add_argument("--write", action="store_true", help="write the pages instead of comparing")
    arguments = parser.parse_args()
    folder, status = os.path.join(arguments.root, FOLDER), 0
    files = Reference(arguments.root).print_all()
    os.makedirs(folder, exist_ok=True)
    for name in sorted(set(files) | set(os.listdir(folder))):
        path = os.path.join(folder, name)
        known = None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                known = file.read()
        if known == files.get(name):
            continue
        if not arguments.write:
            print(f"docs/reference/{name} is not what the headers say: run tools/print_reference.py --write", file=sys.stderr)
            status = 1
        elif name in files:
            with open(path, "w", encoding="utf-8") as file:
                file.write(files[name])
        else:
            os.remove(path)
    return status


if __name__ == "__main__":
    sys.exit(main())
