# shellcheck shell=sh
cp "$VOLTA_ROOT"/examples/c/*.c .
voltac convert bytes.volta --out gpt2.safetensors --names huggingface --config-out config.json
