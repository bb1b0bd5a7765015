"""What the command lines of the benchmarks' scripts share: counts, and what a script cannot do without."""

import argparse
import sys


def at_least(least):
    """An argparse type: a whole number that is not below `least`."""

    def number(text):
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError(f"'{text}' is no whole number of {least} or more")
        return value

    return number


def require_numpy(script):
    """Ends the script with one sentence where there is no NumPy."""
    try:
        import numpy  # noqa: F401
    except ImportError as error:
        sys.exit(f"{script}: NumPy is missing: install python3-numpy, as make deps-bench does ({error})")
