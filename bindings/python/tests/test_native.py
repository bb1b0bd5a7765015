"""The printed half: structs are laid out as the C compiler lays them out, and every function can be called."""

import ctypes
import os
import subprocess
import unittest

import volta
from volta import _library, native, recording

LAYOUT = os.environ.get("VOLTA_LAYOUT")  # the program of tests/bindings/layout.c


class NativeTest(unittest.TestCase):
    @unittest.skipUnless(LAYOUT, "VOLTA_LAYOUT names no program that prints the layout of structs")
    def test_structs_are_the_compilers(self):
        lines = subprocess.run([LAYOUT], capture_output=True, text=True, check=True).stdout.splitlines()
        structs = 0
        for line in lines:
            name, *numbers = line.split()
            struct, _, field = name.partition(".")
            kind = getattr(native, struct)
            if field:
                entry = getattr(kind, field)
                self.assertEqual([entry.offset, entry.size], [int(n) for n in numbers], name)
            else:
                structs += 1
                self.assertEqual(ctypes.sizeof(kind), int(numbers[0]), name)
        self.assertGreaterEqual(structs, 44)

    def test_every_function_takes_nothing(self):
        """All arguments NULL or 0: a status or a value, a sentence with each failure, never a crash."""
        for library, functions, last_error in (
                (_library.lib, native.VOLTA_FUNCTIONS, "volta_last_error"),
                (_library.data(), native.VOLTA_DATA_FUNCTIONS, "volta_data_last_error")):
            for name, (returns, takes) in functions.items():
                if name == "volta_context_create":  # NULL options are the defaults
                    continue
                nothing = [kind() if isinstance(kind, type) and issubclass(kind, (ctypes.Structure, ctypes._CFuncPtr)) else
                           None if kind in (ctypes.c_void_p, ctypes.c_char_p) or hasattr(kind, "contents") else 0
                           for kind in takes]
                result = getattr(library, name)(*nothing)
                if returns is ctypes.c_int32 and takes and result in range(1, 12) and name != "volta_tensor_rank":
                    self.assertTrue(getattr(library, last_error)(), name)

    def test_packed_attributes(self):
        """Tape.apply packs them without the struct."""
        listed, _kept = recording.packed_attributes({"number": 2.5, "axes": [3, -1], "none": ()})
        attributes = (native.volta_attribute * 3).from_buffer_copy(listed)
        self.assertEqual(len(listed), ctypes.sizeof(attributes))
        self.assertEqual([(one.name, one.number, one.integer_count) for one in attributes],
                         [(b"number", 2.5, 0), (b"axes", 0.0, 2), (b"none", 0.0, 0)])
        self.assertEqual((ctypes.c_int64 * 2).from_address(attributes[1].integers)[:], [3, -1])

    def test_constants_are_there(self):
        self.assertEqual(native.VOLTA_MAX_RANK, 8)
        self.assertEqual(native.VOLTA_CANCELLED, volta.Cancelled.status)


if __name__ == "__main__":
    unittest.main()
