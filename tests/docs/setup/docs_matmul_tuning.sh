# shellcheck shell=sh
cp book.volta model.volta
