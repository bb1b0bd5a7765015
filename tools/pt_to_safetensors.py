#!/usr/bin/env python3
"""Writes the tensors of a PyTorch file (.pt, .pth, .bin: a state dict, or a dict that holds one) as safetensors, with
the types that they have. `voltac convert` reads it; parameters are made of f32, f16 and bf16. Needs torch and numpy.

    pt_to_safetensors.py model.pt model.safetensors [--key state_dict]

The file is loaded with weights_only=True: no code of it is run, and one that holds more than data is refused.
"""
import argparse
import contextlib
import fcntl
import json
import os
import re
import struct
import sys

NAMES = {"float32": "F32", "float16": "F16", "bfloat16": "BF16", "float64": "F64", "int64": "I64", "int32": "I32",
         "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL"}
LAYERS_DEEP = ("state_dict", "model_state_dict", "model", "module")  # where programs put a state dict


def load(path, key):
    import torch

    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch has many, and their first line says what it is
        sys.exit(f"{path} is not read: {str(error).splitlines()[0] if str(error) else type(error).__name__}")
    for name in [key] if key else LAYERS_DEEP:
        if isinstance(content, dict) and isinstance(content.get(name), dict):
            content = content[name]
            break
        if key:
            sys.exit(f"{path} has no dict '{key}'")
    if not isinstance(content, dict):
        sys.exit(f"{path} holds no dict of tensors, but a {type(content).__name__}")
    tensors = {name: value for name, value in content.items() if isinstance(name, str) and torch.is_tensor(value)}
    if not tensors:
        sys.exit(f"{path} holds no tensors; --key names the dict that does")
    for name in sorted(map(str, content.keys() - tensors.keys())):
        print(f"left out: {name}, which is no tensor", file=sys.stderr)
    return tensors


def bytes_of(tensor):
    """The values in row-major order; bfloat16, which numpy has not, by its bits."""
    import torch

    tensor = tensor.detach().contiguous()
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.view(torch.int16)
    return tensor.numpy().tobytes()


def header_of(tensors):
    header, offset = {}, 0
    for name, tensor in tensors.items():
        dtype = str(tensor.dtype).replace("torch.", "")
        if dtype not in NAMES:
            sys.exit(f"tensor '{name}' has the type {dtype}, which is not written")
        size = tensor.numel() * tensor.element_size()
        header[name] = {"dtype": NAMES[dtype], "shape": list(tensor.shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    return text + b" " * (-(8 + len(text)) % 64)


def is_alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's, and alive
        pass
    return True


def remove_left(path):
    """What runs that were killed have left of this name. Whoever writes such a file holds its lock."""
    folder, name = os.path.split(path)
    try:
        entries = os.listdir(folder)
    except OSError:  # not to be listed, or not there, which opening the file says
        return
    for entry in entries:
        match = re.fullmatch(re.escape(name) + r"\.tmp-([0-9]{1,9})-[0-9]+", entry)
        left = os.path.join(folder, entry)
        if not match or not os.path.isfile(left) or os.path.islink(left):
            continue
        if int(match[1]) != os.getpid() and is_alive(int(match[1])):
            continue
        with contextlib.suppress(OSError), open(left, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(left)


def write(tensors, path):
    """A temporary file, then a rename: an interrupted run leaves no half file under the name, and a killed one what
    the next removes. A link stays, and the file that it leads to is replaced."""
    header = header_of(tensors)
    path = os.path.realpath(path)
    remove_left(path)
    temporary = f"{path}.tmp-{os.getpid()}-0"
    with open(temporary, "xb") as file:
        try:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file.write(struct.pack("<Q", len(header)) + header)
            for tensor in tensors.values():
                file.write(bytes_of(tensor))
            file.flush()
            os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("input", help="a file of torch.save")
    parser.add_argument("output", help="the safetensors file to write")
    parser.add_argument("--key", help="the dict inside that holds the tensors (default: one of "
                                      f"{', '.join(LAYERS_DEEP)}, or the file itself)")
    options = parser.parse_args()
    tensors = load(options.input, options.key)
    write(dict(sorted(tensors.items())), options.output)
    print(f"{len(tensors)} tensors, {os.path.getsize(options.output)} bytes: {options.output}")


if __name__ == "__main__":
    main()
