#!/usr/bin/env python3
"""The manual as a site of files that need no network: tools/make_manual.py [--build FOLDER] [--root FOLDER]

Lays README.md, docs/, the READMEs of bindings and whatever they link to out as pages below FOLDER/pages, has mkdocs make
FOLDER/site of them (warnings are errors), and checks the site: every link and anchor leads somewhere in it, nothing is
fetched from elsewhere, and every page of docs/ is in the navigation. Status 77 where mkdocs is not installed.
"""

import argparse
import glob
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FENCE = re.compile(r"^(\s*)(`{3,}|~{3,})\s*([^\s`]*)[ ]*([^`]*)$")
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]\()([^)\s]+)(\))")
LANGUAGES = {".h": "c", ".c": "c", ".cpp": "cpp", ".hpp": "cpp", ".py": "python", ".rs": "rust", ".go": "go", ".sh": "sh",
             ".json": "json", ".yml": "yaml"}
LARGEST_SOURCE = 400_000  # bytes of a linked file that becomes a page


class Wrong(Exception):
    """What is wrong with the pages; one line."""


def page_of(path):
    """The page that a file of the repository is, or None."""
    if path == "README.md":
        return "index.md"
    found = re.fullmatch(r"bindings/(\w+)/README\.md", path)
    if found:
        return f"bindings/{found.group(1)}.md"
    if path.startswith("docs/"):
        return path[len("docs/"):].replace("README.md", "index.md")
    if re.fullmatch(r"[A-Z]+\.md", path):
        return f"project/{path.lower()}"
    return None


class Pages:
    """Lays out pages; what they link to becomes a page as well."""

    def __init__(self, root, folder):
        self.root, self.folder, self.waiting, self.done = root, folder, [], set()

    def read(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            return file.read()

    def write(self, page, text):
        target = os.path.join(self.folder, page)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="utf-8") as file:
            file.write(text)

    def target(self, path):
        """Where a file or folder of the repository is on the site; it will be."""
        full = os.path.join(self.root, path)
        if os.path.isdir(full):
            index = page_of(path + "/README.md")
            page = index if index and os.path.exists(os.path.join(full, "README.md")) else \
                (path[len("docs/"):] if path.startswith("docs/") else "source/" + path) + "/index.md"
        elif os.path.exists(full):
            page = page_of(path) or "source/" + path.lstrip(".") + ".md"  # mkdocs hides what begins with a dot
            if path.endswith(".svg"):
                page = page_of(path)
        else:
            raise Wrong(f"{path} does not exist")
        if (path, page) not in self.done:
            self.done.add((path, page))
            self.waiting.append((path, page))
        return page

    def markdown(self, path, page, text):
        """GitHub's Markdown as mkdocs' reads it: links to pages of the site, lists and tables behind an empty line."""
        out, fence, before = [], None, ""
        for number, line in enumerate(text.splitlines(), 1):
            found = FENCE.match(line)
            if fence:
                out.append(line)
                if found and found.group(2).startswith(fence) and not found.group(3):
                    fence = None
                    out += self.after
                continue
            if found:
                fence, words = found.group(2), found.group(4).strip()
                reason = re.search(r"no-run: (.*)", words)
                self.after = ["", f"*Not run by the tests: {reason.group(1).strip()}.*", ""] if reason else []
                if before.strip():
                    out.append("")
                out.append(f"{found.group(1)}{fence}{found.group(3)}")
                before = ""
                continue
            kind = re.match(r"\s*(?:([-*]|\d+\.) |(\|))", line)
            if kind and before.strip() and not re.match(r"\s*([-*] |\d+\. |\||  )", before):
                out.append("")
            if kind and kind.group(1):  # a list within a list: four places
                line = re.sub(r"^( {2,3})(?=[-*] )", "    ", line)
            line = line.replace("<details>", '<details markdown="1">')
            before = line
            out.append(LINK.sub(lambda m: m.group(1) + self.moved(path, page, number, m.group(2)) + m.group(3), line))
        return "\n".join(out) + "\n"

    def moved(self, path, page, number, link):
        if re.match(r"[a-z]+:|#", link):
            return link
        file, anchor = (link.split("#", 1) + [""])[:2]
        try:
            there = self.target(os.path.normpath(os.path.join(os.path.dirname(path), file)))
        except Wrong as error:
            raise Wrong(f"{path}:{number}: a link to {link}: {error}") from None
        return os.path.relpath(there, os.path.dirname(page) or ".") + ("#" + anchor if anchor else "")

    def lay_out(self, path, page):
        full = os.path.join(self.root, path)
        if os.path.isdir(full) and not page.endswith("/README.md") and os.path.exists(os.path.join(full, "README.md")):
            path = path + "/README.md"
            full = os.path.join(self.root, path)
            self.done.add((path, page))
        if os.path.isdir(full):
            rows = []
            for name in sorted(os.listdir(full)):
                title = self.title(path + "/" + name)
                rows.append(f"- [{title or name}]({self.moved(path + '/x', page, 0, name)})" if title else f"- `{name}`")
            self.write(page, f"# {os.path.basename(path).capitalize()}\n\n" + "\n".join(rows) + "\n")
        elif path.endswith(".md"):
            self.write(page, self.markdown(path, page, self.read(path)))
        elif path.endswith(".svg"):
            os.makedirs(os.path.dirname(os.path.join(self.folder, page)), exist_ok=True)
            shutil.copyfile(full, os.path.join(self.folder, page))
        else:
            if os.path.getsize(full) > LARGEST_SOURCE:
                raise Wrong(f"{path} is linked to, and of more than {LARGEST_SOURCE} bytes")
            language = LANGUAGES.get(os.path.splitext(path)[1], "text")
            self.write(page, f"# {path}\n\n~~~~~~{language}\n{self.read(path)}~~~~~~\n")

    def title(self, path):
        if not path.endswith(".md"):
            return ""
        return next((line[2:].strip() for line in self.read(path).splitlines() if line.startswith("# ")), "")

    def run(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        for top, _, names in os.walk(os.path.join(self.root, "docs")):
            for name in names:
                if name.endswith((".md", ".svg")):
                    self.target(os.path.relpath(os.path.join(top, name), self.root))
        for path in ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"] + [
                os.path.relpath(path, self.root) for path in sorted(glob.glob(os.path.join(self.root, "bindings", "*", "README.md")))]:
            if os.path.exists(os.path.join(self.root, path)):
                self.target(path)
        while self.waiting:
            self.lay_out(*self.waiting.pop())


def configure(root, build, pages):
    """mkdocs.yml with folders of the navigation written out, each with the pages that it has."""
    out, listed = [], set()
    with open(os.path.join(root, "mkdocs.yml"), encoding="utf-8") as file:
        text = file.read()
    for line in text.splitlines():
        found = re.fullmatch(r"(\s*)- ([^:]+): (\S+)/", line)
        if found:
            indent, title, folder = found.groups()
            names = sorted(os.listdir(os.path.join(pages, folder)), key=lambda name: (name != "index.md", name))
            out.append(f"{indent}- {title}:")
            out += [f"{indent}    - {folder}/{name}" for name in names if name.endswith(".md")]
            listed |= {f"{folder}/{name}" for name in names}
            continue
        found = re.fullmatch(r"\s*- (?:[^:]+: )?(\S+\.md)", line)
        if found:
            listed.add(found.group(1))
        line = re.sub(r"^docs_dir: .*", "docs_dir: pages", line)
        out.append(re.sub(r"^site_dir: .*", "site_dir: site", line))
    for top, _, names in os.walk(pages):
        for name in names:
            page = os.path.relpath(os.path.join(top, name), pages)
            if page.endswith(".md") and not page.startswith("source/") and page not in listed:
                raise Wrong(f"{page} is in no navigation: mkdocs.yml")
    path = os.path.join(build, "mkdocs.yml")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")
    return path


# ---- The site --------------------------------------------------------------------------------------------------

def search_from_disc(site):
    """The index as a script, and tools/manual_search.js to read it."""
    with open(os.path.join(site, "search", "search_index.json"), encoding="utf-8") as file:
        entries = json.load(file)["docs"]
    entries = [entry for entry in entries if not entry["location"].startswith("source/")]
    with open(os.path.join(site, "search", "index.js"), "w", encoding="utf-8") as file:
        file.write("var searchIndex = " + json.dumps(entries, ensure_ascii=False) + ";\n")
    shutil.copyfile(os.path.join(ROOT, "tools", "manual_search.js"), os.path.join(site, "search", "main.js"))
    with open(os.path.join(site, "index.html"), encoding="utf-8") as file:
        page = file.read()
    for part in ('id="mkdocs-search-query"', 'id="mkdocs-search-results"', "search/main.js", "base_url ="):
        if part not in page:
            raise Wrong(f"the theme's pages have no {part}: the search would find nothing")
    for name in ("search_index.json", "worker.js", "lunr.js"):
        if os.path.exists(os.path.join(site, "search", name)):
            os.remove(os.path.join(site, "search", name))


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loads, self.raw, self.code = set(), [], [], [], 0
        self.feed(text)

    def handle_data(self, data):
        """Markdown that mkdocs took for text: a table, a fence, a list behind a line of text."""
        if not self.code and re.search(r"^\|[ :|-]{3,}\|$|^```|\n[-*] \S", data, re.M):
            self.raw.append((self.getpos()[0], data.strip().splitlines()[0][:60]))

    def handle_endtag(self, tag):
        self.code -= tag in ("pre", "code", "script", "style")

    def handle_starttag(self, tag, attributes):
        self.code += tag in ("pre", "code", "script", "style")
        attributes = dict(attributes)
        self.ids |= {attributes[name] for name in ("id", "name") if attributes.get(name)}
        if tag == "a" and attributes.get("href"):
            self.links.append((self.getpos()[0], attributes["href"]))
        elif tag == "link" and attributes.get("rel") != "canonical" and attributes.get("href"):
            self.loads.append((self.getpos()[0], attributes["href"]))
        elif tag != "a" and attributes.get("src"):
            self.loads.append((self.getpos()[0], attributes["src"]))


def check(site):
    """What is wrong with the site: links and anchors that lead nowhere, and what comes from elsewhere."""
    pages, wrong = {}, []
    for top, _, names in os.walk(site):
        for name in names:
            path = os.path.join(top, name)
            if name.endswith(".html"):
                with open(path, encoding="utf-8") as file:
                    pages[os.path.relpath(path, site)] = Page(file.read())
            elif name.endswith(".css"):
                with open(path, encoding="utf-8", errors="replace") as file:
                    for found in re.findall(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')]*)", file.read()):
                        wrong.append(f"{os.path.relpath(path, site)}: loads {found}")
    if not pages:
        raise Wrong("the site has no pages")
    for name, page in sorted(pages.items()):
        wrong += [f"{name}:{line}: not laid out: {text}" for line, text in page.raw]
        for line, link in page.links + page.loads:
            if re.match(r"(https?:)?//", link):
                if (line, link) in page.loads:
                    wrong.append(f"{name}:{line}: loads {link}")
                continue
            if re.match(r"[a-z]+:", link) or name == "404.html":
                continue
            file, anchor = (link.split("#", 1) + [""])[:2]
            file = file.split("?")[0]
            there = os.path.normpath(os.path.join(os.path.dirname(name), file)) if file else name
            if os.path.isdir(os.path.join(site, there)):
                there = os.path.normpath(os.path.join(there, "index.html"))
            if not os.path.exists(os.path.join(site, there)):
                wrong.append(f"{name}:{line}: a link to {link}, which does not exist")
            elif anchor and there in pages and anchor not in pages[there].ids:
                wrong.append(f"{name}:{line}: {there} has no heading for #{anchor}")
    return pages, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=ROOT, metavar="FOLDER", help="the tree (default: this one)")
    parser.add_argument("--build", default="build/docs", metavar="FOLDER", help="where the site goes (default: build/docs)")
    arguments = parser.parse_args()
    if not shutil.which("mkdocs"):
        print("mkdocs is missing: the manual is not made (the distribution's package mkdocs)", file=sys.stderr)
        return 77
    build, root = os.path.abspath(arguments.build), os.path.abspath(arguments.root)
    os.makedirs(build, exist_ok=True)
    try:
        Pages(root, os.path.join(build, "pages")).run()
        settings = configure(root, build, os.path.join(build, "pages"))
        done = subprocess.run(["mkdocs", "build", "--quiet", "--strict", "--clean", "--config-file", settings], check=False)
        if done.returncode != 0:
            raise Wrong("mkdocs is not content")
        site = os.path.join(build, "site")
        search_from_disc(site)
        pages, wrong = check(site)
    except Wrong as error:
        print(error, file=sys.stderr)
        return 1
    for line in wrong:
        print(line, file=sys.stderr)
    if not wrong:
        print(f"{site}/index.html: {len(pages)} pages, {sum(len(page.links) for page in pages.values())} links, none dead")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
