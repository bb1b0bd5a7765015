# shellcheck shell=sh
# Weights and graphs of other programs.
voltac convert r20.volta --out own.safetensors
python3 "$VOLTA_ROOT/tests/docs/plain_safetensors.py" own.safetensors resnet20.safetensors
cp "$VOLTA_ROOT/fuzz/corpus/import_gguf/llama_f32" model.gguf
voltac convert r20.volta --out model.onnx
