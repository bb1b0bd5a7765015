"""Puts the two libraries of the tree into the package, built by `make` where they are not there yet."""

import os
import re
import shutil
import subprocess

from setuptools import setup
from setuptools.command.build_py import build_py

try:
    from wheel.bdist_wheel import bdist_wheel
except ImportError:
    from setuptools.command.bdist_wheel import bdist_wheel

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.environ.get("VOLTA_ROOT", os.path.join(HERE, "..", ".."))
LIBRARIES = ("libvolta.so.1", "libvolta_data.so.1")


def version():
    with open(os.path.join(ROOT, "include", "volta.h"), encoding="utf-8") as file:
        return ".".join(re.findall(r"#define VOLTA_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", file.read()))


class WithLibraries(build_py):
    def run(self):
        super().run()
        build = os.path.join(ROOT, "build")
        if not all(os.path.exists(os.path.join(build, name)) for name in LIBRARIES):
            subprocess.run(["make", "-C", ROOT, "all"], check=True)
        for name in LIBRARIES:
            to = os.path.join(self.build_lib, "volta", name)
            shutil.copyfile(os.path.realpath(os.path.join(build, name)), to)
            subprocess.run(["strip", "--strip-unneeded", to], check=False)


class ForEveryPython(bdist_wheel):
    """The package has no extension module: one wheel serves every CPython of this system and processor."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", "linux_x86_64"


setup(version=version(), cmdclass={"build_py": WithLibraries, "bdist_wheel": ForEveryPython})
