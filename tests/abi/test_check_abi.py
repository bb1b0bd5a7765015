"""Each way of breaking a program that is there already is told by a sentence of tools/check_abi.py; growing is not."""

import importlib.util
import os
import sys
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SPEC = importlib.util.spec_from_file_location("check_abi", os.path.join(ROOT, "tools", "check_abi.py"))
check_abi = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(check_abi)

OLD = """function volta_open volta_status (const char *)
type volta_level int32_t
constant VOLTA_STRICT 0
field volta_options.struct_size size_t
field volta_options.threads uint32_t
field volta_options.level volta_level
field volta_value.id int32_t""".splitlines()


def sentences(new):
    return list(check_abi.broken(OLD, new))


def changed(line, into):
    return [into if one == line else one for one in OLD if one != line or into]


class Broken(unittest.TestCase):
    def said(self, new, expected):
        found = sentences(new)
        self.assertTrue(any(expected in sentence for sentence in found), found)

    def test_same(self):
        self.assertEqual(sentences(OLD), [])

    def test_function_vanishes(self):
        self.said(OLD[1:], "function volta_open is gone")

    def test_prototype_changes(self):
        self.said(changed(OLD[0], "function volta_open volta_status (const char *, int32_t)"), "was volta_status (const char *)")

    def test_constant_changes(self):
        self.said(changed("constant VOLTA_STRICT 0", "constant VOLTA_STRICT 1"), "constant VOLTA_STRICT was 0, it is 1")

    def test_type_changes(self):
        self.said(changed("type volta_level int32_t", "type volta_level int64_t"), "type volta_level was int32_t")

    def test_field_vanishes(self):
        self.said(changed("field volta_options.level volta_level", None), "field volta_options.level is gone")

    def test_field_moves(self):
        moved = OLD[:4] + [OLD[5], OLD[4]] + OLD[6:]
        self.said(moved, "field threads was at place 1, it is at 2")

    def test_field_is_inserted(self):
        self.said(OLD[:4] + ["field volta_options.new int32_t"] + OLD[4:], "field threads was at place 1, it is at 2")

    def test_struct_without_size_grows(self):
        self.said(OLD + ["field volta_value.more int32_t"], "volta_value has no struct_size")

    def test_growth(self):
        grown = OLD[:6] + ["field volta_options.more int32_t"] + OLD[6:] + ["function volta_new void (void)", "constant VOLTA_FAST 2"]
        self.assertEqual(sentences(grown), [])

    def test_headers(self):
        """The real promises, with one line gone each, are noticed."""
        for name in check_abi.HEADERS:
            old = list(check_abi.lines(ROOT, name))
            self.assertGreater(len(old), 100)
            for gone in range(0, len(old), 17):
                self.assertTrue(list(check_abi.broken(old, old[:gone] + old[gone + 1:])), old[gone])


if __name__ == "__main__":
    sys.exit(unittest.main())
