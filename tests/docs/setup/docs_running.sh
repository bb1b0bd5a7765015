# shellcheck shell=sh
# A BERT with an input that says which tokens are padding.
voltac convert bert.volta --out b.safetensors --names huggingface --config-out config.json
voltac convert b.safetensors --head masked --mask --out masked.volta
