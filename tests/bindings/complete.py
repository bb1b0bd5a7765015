#!/usr/bin/env python3
"""Every function of the public headers is called by the idiomatic half of each binding: complete.py ROOT

The printed half has all of them anyway. Where a function is a shorthand of another, that one will do.
"""

import glob
import json
import os
import re
import sys

LANGUAGES = {"C++": "bindings/cpp/*.hpp", "Python": "bindings/python/volta/[!n]*.py", "Rust": "bindings/rust/volta/src/*.rs",
             "Go": "bindings/go/*.go"}
SHORTHANDS = {"volta_graph_unary": "volta_graph_apply", "volta_graph_binary": "volta_graph_apply",
              "volta_tokenizer_encode": "volta_tokenizer_encode_with", "volta_model_create_resnet": "volta_model_create_network",
              "volta_model_export_safetensors": "volta_model_export_safetensors_with",
              "volta_tape_call": "volta_tape_apply", "volta_tape_optimizer_zero_grad": "volta_tensor_zero_grad"}
STAND_INS = {"Go": {"volta_session_run": "sys.Run"},  # the same call by another name
             # volta.compile is a lazy tape that Python calls itself
             "Python": {"volta_compile": "volta_tape_create", "volta_compiled_release": "volta_tape_release",
                        "volta_compiled_call": "volta_tape_reset", "volta_compiled_tape": "volta_tape_create"}}


def functions(root):
    for header in ("volta", "volta_data"):
        with open(os.path.join(root, "api", header + ".json"), encoding="utf-8") as file:
            for section in json.load(file)["sections"]:
                yield from (item["name"] for item in section["items"] if item["kind"] == "function")


def spelling(language, name):
    if language != "Go":
        return name
    words = name.split("_")[1:]
    return "sys." + "".join(word[:1].upper() + word[1:] for word in words)


def main():
    root, status = sys.argv[1], 0
    names = list(functions(root))
    for language, pattern in LANGUAGES.items():
        paths = [path for path in glob.glob(os.path.join(root, pattern)) if not path.endswith(("_test.go", "names.go"))]
        source = ""
        for path in paths:
            with open(path, encoding="utf-8") as file:
                source += file.read()

        def called(name):
            word = STAND_INS.get(language, {}).get(name, spelling(language, name))
            return re.search(rf"\b{re.escape(word)}\b", source)

        missing = [name for name in names if not called(name) and not called(SHORTHANDS.get(name, name))]
        if missing or not paths:
            print(f"{language} does not call {', '.join(missing)}")
            status = 1
    if status == 0:
        print(f"{len(names)} functions in {len(LANGUAGES)} languages")
    return status


if __name__ == "__main__":
    sys.exit(main())
