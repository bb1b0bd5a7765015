#!/usr/bin/env python3
"""GGUF against the package gguf: what every type of blocks becomes as f32, and what is written.

    tests/parity/parity_gguf.py --library build/libvolta.so [--rows]

Read: Llamas whose matrices are random bytes of one type each, so every scale, infinite and not a number too, and every
integer. As f32 they must have the bits of gguf.quants.dequantize; of a NaN its payload does not count.

Written: a GPT, Llamas and a BERT in every type that is written. The package's reader must find the keys, and tensors with
the bytes that its quantize makes of the f32 ones.

--rows prints the rows of tests/import/test_block_types.cpp and test_export_gguf.cpp.

Exit status: 0 equal, 1 different, 77 no package gguf.
"""

import argparse
import ctypes as c
import os
import sys
import tempfile

try:
    import gguf
    import numpy as np
    from gguf import GGMLQuantizationType as Type
except ImportError:
    print("gguf is not installed: skipped")
    sys.exit(77)

from volta_ctypes import F32, MODEL_OPTIONS, ContextOptions, ImportOptions, Library, native, sized

BLOCKS = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "MXFP4")
WIDTH, HIDDEN, HEADS, VOCABULARY, LAYERS = 256, 512, 4, 48, 2
MATRICES = {"attn_q": (WIDTH, WIDTH), "attn_k": (WIDTH, WIDTH), "attn_v": (WIDTH, WIDTH), "attn_output": (WIDTH, WIDTH),
            "ffn_gate": (HIDDEN, WIDTH), "ffn_up": (HIDDEN, WIDTH), "ffn_down": (WIDTH, HIDDEN)}


def random_bytes(generator, shape, kind):
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    return generator.integers(0, 256, (*shape[:-1], shape[-1] // elements * size), dtype=np.uint8)


def write_llama(path, kind, generator):
    """The matrices by name, as the package makes f32 of them."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(LAYERS)
    writer.add_context_length(32)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    shapes = {"token_embd": (VOCABULARY, WIDTH)}
    for layer in range(LAYERS):
        shapes.update({f"blk.{layer}.{name}": shape for name, shape in MATRICES.items()})
        for norm in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{norm}.weight", np.ones(WIDTH, np.float32))
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    values = {}
    for name, shape in shapes.items():
        data = random_bytes(generator, shape, kind)
        writer.add_tensor(f"{name}.weight", data, raw_dtype=kind)
        values[name] = gguf.quants.dequantize(data, kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return values


def expected_parameters(values):
    parameters = {"token_embedding": values["token_embd"]}
    for layer in range(LAYERS):
        of = {name: values[f"blk.{layer}.{name}"].T for name in MATRICES}
        block = f"block.{layer}."
        parameters[block + "qkv.weight"] = np.concatenate([of["attn_q"], of["attn_k"], of["attn_v"]], axis=1)
        parameters[block + "proj.weight"] = of["attn_output"]
        parameters[block + "gate_up.weight"] = np.concatenate([of["ffn_gate"], of["ffn_up"]], axis=1)
        parameters[block + "down.weight"] = of["ffn_down"]
    return parameters


class Models:
    def __init__(self, path):
        self.library, self.context = Library(path), c.c_void_p()
        self.library.call("volta_context_create", c.byref(sized(ContextOptions, thread_count=1)), c.byref(self.context))

    def open(self, path, **options):
        model = c.c_void_p()
        self.library.call("volta_model_import", self.context, path.encode(), c.byref(sized(ImportOptions, **options)),
                          c.byref(model))
        return model

    def parameter(self, model, name):
        data, count = c.POINTER(c.c_float)(), c.c_size_t()
        self.library.call("volta_model_parameter", model, name.encode(), c.byref(data), c.byref(count))
        return np.ctypeslib.as_array(data, (count.value,)).copy()

    def release(self, model):
        self.library.so.volta_model_release(model)


def differing(actual, expected):
    """Elements of other bits."""
    a, b = actual.ravel(), np.ascontiguousarray(expected, np.float32).ravel()
    same = (a.view(np.uint32) == b.view(np.uint32)) | (np.isnan(a) & np.isnan(b))
    return int(same.size - same.sum())


def check_blocks(models, folder, generator):
    wrong = 0
    for name in BLOCKS:
        path = os.path.join(folder, f"{name}.gguf")
        with np.errstate(all="ignore"):
            expected = expected_parameters(write_llama(path, Type[name], generator))
        model = models.open(path, weights=F32)
        bad = sum(differing(models.parameter(model, key), value) for key, value in expected.items())
        total = sum(value.size for value in expected.values())
        finite = sum(int(np.isfinite(value).sum()) for value in expected.values())
        models.release(model)
        print(f"{name:7} {total} elements, {finite} of them finite: {bad} differ")
        wrong += bad
    return wrong


def print_rows():
    """Blocks from a linear congruential generator, as the test makes them, and a hash of their f32."""
    for name in BLOCKS:
        elements, size = gguf.GGML_QUANT_SIZES[Type[name]]
        count, state, data = 16384 // elements, sum(name.encode()), bytearray()
        for _ in range(count * size):
            state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
            data.append(state >> 24)
        blocks = np.frombuffer(bytes(data), np.uint8).reshape(count, size)
        with np.errstate(all="ignore"):
            values = gguf.quants.dequantize(blocks, Type[name]).ravel()
        bits = values.view(np.uint32).copy()
        bits[np.isnan(values)] = 0x7FC00000
        digest = 0xCBF29CE484222325
        for word in bits:
            digest = ((digest ^ int(word)) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
        some = ", ".join(f"0x{int(bits[i]):08x}" for i in (0, 1, elements // 2, elements - 1))
        print(f'    {{"{name}", {elements}, {size}, 0x{digest:016x}u, {{{some}}}}},')


OUTPUTS = {"F32": F32, "F16": native.VOLTA_F16, "BF16": native.VOLTA_BF16, "Q8_0": native.VOLTA_INT8,
           "Q4_0": native.VOLTA_INT4}


def quantised(values, name):
    """As bytes."""
    return gguf.quants.quantize(np.ascontiguousarray(values, np.float32), Type[name]).view(np.uint8)


def print_written_rows():
    """Values as test_export_gguf.cpp makes them, and a hash of their bytes."""
    state, values = 48, np.empty(8192, np.float32)
    for i in range(values.size):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        value = np.float32(np.float32(state >> 8) - np.float32(8388608)) * np.float32(2.0 ** (-23 - i // 512))
        if i // 32 % 16 == 3:
            value = np.float32(0)
        if i // 32 % 16 == 5:
            scaled = float(value) * 8
            value = np.float32(np.copysign(np.floor(abs(scaled) + 0.5), scaled) / 8)
        values[i] = value if value != 0 else 0  # of a block of zeros the package takes the first one's sign, llama.cpp none
    for name, dtype in (("F32", "f32"), ("F16", "f16"), ("BF16", "bf16"), ("Q8_0", "int8"), ("Q4_0", "int4")):
        digest = 0xCBF29CE484222325
        for byte in quantised(values.reshape(-1, 32), name).ravel():
            digest = ((digest ^ int(byte)) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
        print(f"        {{DType::{dtype}, 0x{digest:016x}u}},")


def created(models, architecture, **sizes):
    model = c.c_void_p()
    options = sized(MODEL_OPTIONS[architecture], **sizes)
    models.library.call(f"volta_model_create_{architecture}", models.context, c.byref(options), c.c_uint64(5), c.byref(model))
    return model


def check_written(models, folder):
    sizes = {"layers": 2, "dim": 64, "heads": 4, "context": 32, "vocabulary": 80}
    pairs = {"kv_heads": 2, "hidden": 96, "epsilon": 1e-6, "rope_base": 50000.0}
    cases = {"gpt": ("gpt", sizes), "llama": ("llama", {**sizes, **pairs, "untied": 1, "interleaved": 1}),
             "bert": ("bert", {**sizes, "hidden": 96, "head": native.VOLTA_BERT_CLASSES, "classes": 3})}
    path, wrong = os.path.join(folder, "written.gguf"), 0
    for case, (architecture, options) in cases.items():
        known = {name for name, *_ in MODEL_OPTIONS[architecture]._fields_}
        model = created(models, architecture, **{key: value for key, value in options.items() if key in known})
        whole = {}
        for name, dtype in OUTPUTS.items():
            export = sized(native.volta_gguf_export_options, weights=dtype)
            models.library.call("volta_model_export_gguf", model, c.byref(export), path.encode())
            reader = gguf.GGUFReader(path)
            kinds = set()
            for tensor in reader.tensors:
                kind = tensor.tensor_type.name
                kinds.add(kind)
                if name == "F32":
                    whole[tensor.name] = np.array(tensor.data)
                expected = quantised(whole[tensor.name], kind)
                wrong += int(np.count_nonzero(tensor.data.view(np.uint8).ravel() != expected.ravel()))
                wrong += kind not in (name, "F32")
            wrong += kinds != {name, "F32"}
            wrong += sorted(whole) != sorted(tensor.name for tensor in reader.tensors)
            kind = reader.get_field("general.architecture").contents()
            for key, value in (("block_count", 2), ("embedding_length", 64), ("attention.head_count", 4),
                               ("context_length", 32), ("vocab_size", 80)):
                wrong += reader.get_field(f"{kind}.{key}").contents() != value
        models.release(model)
        print(f"written {case:6} {len(whole)} tensors in {len(OUTPUTS)} types: {wrong} bytes and keys differ")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", help="libvolta.so")
    parser.add_argument("--rows", action="store_true")
    arguments = parser.parse_args()
    if arguments.rows:
        print_rows()
        print_written_rows()
        return 0
    models = Models(arguments.library)
    generator = np.random.default_rng(48)
    with tempfile.TemporaryDirectory() as folder:
        wrong = check_blocks(models, folder, generator) + check_written(models, folder)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
