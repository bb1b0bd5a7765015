#!/usr/bin/env python3
"""Chat templates against transformers: 50 conversations in every format.

    tests/parity/parity_chat.py [--library build/libvolta.so] [--update]

For each format a template, as models of that kind carry it, and a byte-level tokenizer with the pieces that it needs lie in a
folder that transformers has written. Volta imports the folder, and must recognise the format and give the tokens of
apply_chat_template, with the beginning of an answer and without. So must the template that it writes to a GGUF file, as jinja runs it.

--update writes tests/golden/chat.json, the texts that jinja makes, which tests/import/test_chat.cpp checks in every `make test`.

Exit status: 0 equal, 1 different, 77 no transformers.
"""

import argparse
import ctypes as c
import json
import os
import random
import struct
import sys
import tempfile

try:
    import tokenizers
    import transformers
except ImportError:
    print("transformers is not installed: skipped")
    sys.exit(77)

from volta_ctypes import ContextOptions, ImportOptions, Library, native, sized

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "chat.json")
ALTERNATES = "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must take turns') }}{% endif %}"
HEADER = "'<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'"

# bos, eos, the pieces that the tokenizer needs beside them, whether the system may speak first, and the template.
FORMATS = {
    "chatml": (None, "<|im_end|>", ["<|im_start|>"], True,
               "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
               "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"),
    # With tools, which are left out, and a text of the system's own.
    "chatml with a system": (None, "<|im_end|>", ["<|im_start|>"], True,
               "{%- if tools %}\n    {{- '<|im_start|>system\\n' }}\n    {{- \"# Tools\\n\\nCall one of these:\" }}\n"
               "    {%- for tool in tools %}\n        {{- tool | tojson }}\n    {%- endfor %}\n{%- else %}\n"
               "    {%- if messages[0]['role'] == 'system' %}\n"
               "        {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}\n    {%- else %}\n"
               "        {{- '<|im_start|>system\\nYou are a test. You help.<|im_end|>\\n' }}\n    {%- endif %}\n{%- endif %}\n"
               "{%- for message in messages %}\n"
               "    {%- if (message.role == \"user\") or (message.role == \"system\" and not loop.first) or "
               "(message.role == \"assistant\" and not message.tool_calls) %}\n"
               "        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}\n"
               "    {%- elif message.role == \"tool\" %}\n        {{- '<tool_response>' + message.content }}\n    {%- endif %}\n"
               "{%- endfor %}\n{%- if add_generation_prompt %}\n    {{- '<|im_start|>assistant\\n' }}\n{%- endif %}\n"),
    "llama2": ("<s>", "</s>", [], True,
               "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}"
               "{% set system_message = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}"
               "{% set system_message = false %}{% endif %}{% for message in loop_messages %}" + ALTERNATES +
               "{% if loop.index0 == 0 and system_message != false %}"
               "{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}"
               "{% else %}{% set content = message['content'] %}{% endif %}{% if message['role'] == 'user' %}"
               "{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif message['role'] == 'assistant' %}"
               "{{ ' ' + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}"),
    "llama3": ("<|begin_of_text|>", "<|end_of_text|>", ["<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"], True,
               "{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = " + HEADER +
               " + message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}"
               "{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}"
               "{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"),
    "llama3.1": ("<|begin_of_text|>", "<|end_of_text|>", ["<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"], True,
               "{{- bos_token }}\n{%- if custom_tools is defined %}\n    {%- set tools = custom_tools %}\n{%- endif %}\n"
               "{%- if not date_string is defined %}\n    {%- set date_string = \"26 Jul 2024\" %}\n{%- endif %}\n"
               "{%- if not tools is defined %}\n    {%- set tools = none %}\n{%- endif %}\n"
               "{%- if messages[0]['role'] == 'system' %}\n    {%- set system_message = messages[0]['content']|trim %}\n"
               "    {%- set messages = messages[1:] %}\n{%- else %}\n    {%- set system_message = \"\" %}\n{%- endif %}\n"
               "{{- \"<|start_header_id|>system<|end_header_id|>\\n\\n\" }}\n"
               "{%- if builtin_tools is defined or tools is not none %}\n    {{- \"Environment: ipython\\n\" }}\n{%- endif %}\n"
               "{{- \"Cutting Knowledge Date: December 2023\\n\" }}\n{{- \"Today Date: \" + date_string + \"\\n\\n\" }}\n"
               "{{- system_message }}\n{{- \"<|eot_id|>\" }}\n{%- for message in messages %}\n"
               "    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}\n"
               "        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}\n"
               "    {%- elif message.role == \"tool\" or message.role == \"ipython\" %}\n        {{- message.content | tojson }}\n"
               "    {%- endif %}\n{%- endfor %}\n{%- if add_generation_prompt %}\n"
               "    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}\n{%- endif %}\n"),
    "gemma": ("<bos>", "<eos>", ["<start_of_turn>", "<end_of_turn>"], False,
               "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('No system here') }}{% endif %}"
               "{% for message in messages %}" + ALTERNATES + "{% if (message['role'] == 'assistant') %}{% set role = 'model' %}"
               "{% else %}{% set role = message['role'] %}{% endif %}"
               "{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}{% endfor %}"
               "{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"),
    "gemma3": ("<bos>", "<eos>", ["<start_of_turn>", "<end_of_turn>"], True,
               "{{ bos_token }}\n{%- if messages[0]['role'] == 'system' -%}\n"
               "    {%- set first_user_prefix = messages[0]['content'] + '\n\n' -%}\n    {%- set loop_messages = messages[1:] -%}\n"
               "{%- else -%}\n    {%- set first_user_prefix = \"\" -%}\n    {%- set loop_messages = messages -%}\n{%- endif -%}\n"
               "{%- for message in loop_messages -%}\n    " + ALTERNATES + "\n"
               "    {%- if (message['role'] == 'assistant') -%}\n        {%- set role = \"model\" -%}\n    {%- else -%}\n"
               "        {%- set role = message['role'] -%}\n    {%- endif -%}\n"
               "    {{ '<start_of_turn>' + role + '\n' + (first_user_prefix if loop.first else \"\") }}\n"
               "    {%- if message['content'] is string -%}\n        {{ message['content'] | trim }}\n    {%- endif -%}\n"
               "    {{ '<end_of_turn>\n' }}\n{%- endfor -%}\n{%- if add_generation_prompt -%}\n    {{'<start_of_turn>model\n'}}\n"
               "{%- endif -%}\n"),
    "phi3": (None, "<|endoftext|>", ["<|system|>", "<|user|>", "<|assistant|>", "<|end|>"], True,
               "{% for message in messages %}{% if message['role'] == 'system' %}{{'<|system|>\n' + message['content'] + '<|end|>\n'}}"
               "{% elif message['role'] == 'user' %}{{'<|user|>\n' + message['content'] + '<|end|>\n'}}"
               "{% elif message['role'] == 'assistant' %}{{'<|assistant|>\n' + message['content'] + '<|end|>\n'}}{% endif %}"
               "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}"),
    "mistral": ("<s>", "</s>", [], False,
               "{{ bos_token }}{% for message in messages %}" + ALTERNATES + "{% if message['role'] == 'user' %}"
               "{{ '[INST] ' + message['content'] + ' [/INST]' }}{% elif message['role'] == 'assistant' %}"
               "{{ message['content'] + eos_token}}{% else %}{{ raise_exception('Two roles are known') }}{% endif %}{% endfor %}"),
    "deepseek": ("<bos>", "<eos>", [], True,
               "{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}{{ bos_token }}"
               "{% for message in messages %}{% if message['role'] == 'user' %}{{ 'User: ' + message['content'] + '\n\n' }}"
               "{% elif message['role'] == 'assistant' %}{{ 'Assistant: ' + message['content'] + eos_token }}"
               "{% elif message['role'] == 'system' %}{{ message['content'] + '\n\n' }}{% endif %}{% endfor %}"
               "{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}"),
    "zephyr": ("<s>", "</s>", [], True,
               "{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\n' + message['content'] + eos_token }}\n"
               "{% elif message['role'] == 'system' %}\n{{ '<|system|>\n' + message['content'] + eos_token }}\n"
               "{% elif message['role'] == 'assistant' %}\n{{ '<|assistant|>\n'  + message['content'] + eos_token }}\n{% endif %}\n"
               "{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}"),
}
SENTENCES = ("Hello", "Who are you?", "  What is 2 + 2?\n", "Grüße aus Köln!", "a\n\nb", "\tlist:\n- one\n- two ", "Tell me more",
             "I am a test, and I help.", "", "¿Por qué?", " ", "你好，世界", "x" * 40, "It's 5 o'clock, isn't it?", "<|nothing|> [x]")


def conversations():
    """50 of them, of one to seven turns; every third begins with the system."""
    draws = random.Random(7)
    made = []
    for number in range(50):
        turns = 1 + number % 7
        messages = [{"role": "system", "content": draws.choice(SENTENCES)}] if number % 3 == 0 else []
        for turn in range(turns):
            messages.append({"role": "assistant" if turn % 2 else "user", "content": draws.choice(SENTENCES)})
        made.append(messages)
    return made


def write_folder(folder, bos, eos, pieces, template):
    """A tiny model with a byte-level tokenizer, as transformers saves it."""
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE())
    bpe.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = tokenizers.decoders.ByteLevel()
    special = [piece for piece in (bos, eos, *pieces) if piece]
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=400, special_tokens=special, show_progress=False,
                                             initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet())
    bpe.train_from_iterator([*SENTENCES, "user\nassistant\nsystem\nmodel\n\n[INST] [/INST] User: Assistant: You are"], trainer)
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=bpe, bos_token=bos, eos_token=eos, chat_template=template)
    tokenizer.save_pretrained(folder)
    config = transformers.LlamaConfig(vocab_size=len(tokenizer), hidden_size=16, intermediate_size=16, num_hidden_layers=1,
                                      num_attention_heads=2, max_position_embeddings=64)
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return tokenizer


class Model:
    def __init__(self, library, path):
        self.library, self.context, self.model = library, c.c_void_p(), c.c_void_p()
        options = sized(ContextOptions, thread_count=1)
        library.call("volta_context_create", c.byref(options), c.byref(self.context))
        importing = sized(ImportOptions)
        library.call("volta_model_import", self.context, path.encode(), c.byref(importing), c.byref(self.model))

    def format(self):
        value = c.c_char_p()
        self.library.call("volta_model_get_metadata", self.model, b"volta.chat.format", c.byref(value))
        return value.value.decode() if value.value else None

    def written_template(self, path):
        """tokenizer.chat_template of the GGUF file that the model becomes: a key, the type of texts, a length and the text."""
        self.library.call("volta_model_export_gguf", self.model, None, path.encode())
        with open(path, "rb") as file:
            data = file.read()
        at = data.index(b"tokenizer.chat_template") + len(b"tokenizer.chat_template")
        kind, length = struct.unpack_from("<IQ", data, at)
        assert kind == 8
        return data[at + 12:at + 12 + length].decode()

    def encode(self, messages, prompt):
        array = (native.volta_chat_message * len(messages))()
        for place, message in zip(array, messages):
            place.role, place.content = message["role"].encode(), message["content"].encode()
        ids, answers, count = (c.c_int32 * 8192)(), (c.c_uint8 * 8192)(), c.c_size_t()
        self.library.call("volta_model_encode_chat", self.model, array, c.c_size_t(len(messages)),
                          c.c_uint32(0 if prompt else 1), ids, answers, c.c_size_t(8192), c.byref(count))
        return list(ids[:count.value]), list(answers[:count.value])


def compare(library, name, row, golden):
    """How many conversations differ. golden[name] gets the texts that jinja makes of all."""
    bos, eos, pieces, has_system, template = row
    different = 0
    with tempfile.TemporaryDirectory() as folder:
        tokenizer = write_folder(folder, bos, eos, pieces, template)
        given = [m if has_system or m[0]["role"] != "system" else m[1:] for m in conversations()]
        texts = [tokenizer.apply_chat_template(messages, add_generation_prompt=prompt, tokenize=False)
                 for messages in given for prompt in (True, False)]
        golden[name] = {"bos": bos, "eos": eos, "pieces": pieces, "system": has_system, "template": template, "texts": texts}
        if library is None:
            return 0
        model = Model(library, folder)
        if model.format() != name.split()[0]:
            print(f"{name}: the format is {model.format()}")
            return 1
        for number, theirs in enumerate(texts):
            messages = given[number // 2]
            expected = tokenizer(theirs, add_special_tokens=False)["input_ids"]
            ours, answers = model.encode(messages, number % 2 == 0)
            learnt = tokenizer.decode([i for i, answer in zip(ours, answers) if answer])
            contents = [message["content"].strip() for message in messages if message["role"] == "assistant"]
            if ours != expected or any(content not in learnt for content in contents):
                different += 1
                print(f"{name}: {messages}\n  expected {theirs!r}\n  got      {tokenizer.decode(ours)!r}\n  learnt   {learnt!r}")
        # What a GGUF file carries says the same by jinja.
        tokenizer.chat_template = model.written_template(os.path.join(folder, "model.gguf"))
        for number, theirs in enumerate(texts):
            messages = given[number // 2]
            written = tokenizer.apply_chat_template(messages, add_generation_prompt=number % 2 == 0, tokenize=False)
            if written != theirs:
                different += 1
                print(f"{name}, the template that is written: {messages}\n  expected {theirs!r}\n  got      {written!r}")
    print(f"{name}: {len(texts)} texts, {different} different")
    return different


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library")
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    transformers.logging.set_verbosity_error()
    library, golden = Library(arguments.library) if arguments.library else None, {}
    different = sum(compare(library, name, row, golden) for name, row in FORMATS.items())
    if arguments.update:
        with open(GOLDEN, "w", encoding="utf-8") as file:
            json.dump({"conversations": conversations(), "formats": golden}, file, ensure_ascii=False, indent=0)
            file.write("\n")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
