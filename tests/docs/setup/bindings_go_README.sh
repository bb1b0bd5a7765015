# shellcheck shell=sh
if command -v go >/dev/null; then go mod init example 2>/dev/null; fi
