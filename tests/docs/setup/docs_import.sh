# shellcheck shell=sh
cp "$VOLTA_ROOT/fuzz/corpus/import_gguf/llama_q8_0" model.gguf
cp "$VOLTA_ROOT/fuzz/corpus/import_llama2c/untied" stories260K.bin
python3 - <<'PY'
# llama2.c's tokenizer.bin: the longest piece; of each a score, a length and bytes.
import struct
count = abs(struct.unpack("<7i", open("stories260K.bin", "rb").read(28))[5])
with open("tok512.bin", "wb") as file:
    file.write(struct.pack("<i", 8))
    for i in range(count):
        piece = [b"<unk>", b"\n<s>\n", b"\n</s>\n"][i] if i < 3 else b"<0x%02X>" % (i - 3) if i < 259 else b"piece%d" % i
        file.write(struct.pack("<fi", 0.0, len(piece)) + piece)
PY
voltac convert bytes.volta --out model.safetensors --names huggingface --config-out config.json
mkdir bert
voltac convert bert.volta --out bert/model.safetensors --names huggingface --config-out bert/config.json
voltac convert r20.volta --out own.safetensors
python3 "$VOLTA_ROOT/tests/docs/plain_safetensors.py" own.safetensors resnet20.safetensors
ln -s "$VOLTA_ROOT/tools" tools
