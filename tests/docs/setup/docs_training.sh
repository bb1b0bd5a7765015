# shellcheck shell=sh
cp book.volta gpt2.volta
