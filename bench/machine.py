"""Which machine this is: the key of a machine class, what it can do, and a few lines for a report."""

import datetime
import os
import platform
import subprocess


def _cpuinfo():
    """The first processor of /proc/cpuinfo as a dictionary."""
    fields = {}
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            key, separator, value = line.partition(":")
            if not separator:
                break
            fields[key.strip()] = value.strip()
    return fields


def class_key(fields=None):
    """"AuthenticAMD/25/17": vendor, family and model; a baseline's figures hold for such machines."""
    fields = fields or _cpuinfo()
    return "/".join(fields.get(name, "unknown") for name in ("vendor_id", "cpu family", "model"))


def instruction_sets(fields=None):
    """Those of avx512 and avx2 that the processor has, widest first, as Volta names them."""
    flags = set((fields or _cpuinfo()).get("flags", "").split())
    wanted = (("avx512", {"avx512f", "avx512dq", "avx512bw", "avx512vl", "fma"}), ("avx2", {"avx2", "fma"}))
    return [name for name, needed in wanted if needed <= flags]


def openblas_core(isa, fields=None):
    """The core type to force on OpenBLAS, from feature bits rather than from the model number: versions that do not
    know a processor take kernels of another age for it."""
    fields = fields or _cpuinfo()
    if isa == "avx512":
        return "Cooperlake" if "avx512_bf16" in fields.get("flags", "").split() else "SkylakeX"
    return "Zen" if fields.get("vendor_id") == "AuthenticAMD" else "Haswell"


def _first_line(*command):
    try:
        output = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""
    return output.splitlines()[0] if output else ""


def _distribution():
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")
    except OSError:
        return "Linux"


def _total_memory_gib():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def describe():
    fields = _cpuinfo()
    return {"class": class_key(fields), "cpu": fields.get("model name", "unknown"),
            "cores": len(os.sched_getaffinity(0)), "isa": instruction_sets(fields),
            "memory_gib": round(_total_memory_gib(), 1),
            "system": _distribution(), "kernel": platform.release().split("-")[0],
            "compiler": _first_line("g++", "--version"), "load": round(os.getloadavg()[0], 2),
            "date": datetime.date.today().isoformat()}
