#!/bin/sh
# Runs a command without address space randomisation where the system allows that. ThreadSanitizer of gcc 12 and 13
# does not know the memory layout of kernels with more than 28 random bits and stops before main.
if setarch "$(uname -m)" -R true 2>/dev/null; then
    exec setarch "$(uname -m)" -R "$@"
fi
exec "$@"
