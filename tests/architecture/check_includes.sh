#!/bin/sh
# The include rule: every #include points into the file's own folder or to a layer below it, third-party headers
# stay in the folder that owns them, and only the gateway sees a backend. The rule is the table layers.txt.
#     check_includes.sh ROOT
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/sources.sh"
cd "$1"

sources engine jitgen data cli examples fuzz bench tests/api tests/parity tests/onnx | while read -r file; do
    awk -v file="$file" '/^[ \t]*#[ \t]*include/ { print file "\t" FNR "\t" $0 }' "$file"
done | awk -F'\t' -v table="$here/layers.txt" '
    # The row of the table whose folder holds `path`: the longest that fits; "" for none.
    function owner(path,    folder, best) {
        best = ""
        for (folder in layer)
            if (index(path "/", folder "/") == 1 && length(folder) > length(best)) best = folder
        return best
    }
    # Is `path` one of the files of the list, or in one of its folders, which end with "/"?
    function is_listed(path, list,    entry, count, i) {
        count = split(list, entry, " ")
        for (i = 1; i <= count; ++i)
            if (entry[i] == path || (entry[i] ~ /\/$/ && index(path, entry[i]) == 1)) return 1
        return 0
    }
    function complain(text) { print $1 ":" $2 ": " text; failed = 1 }

    BEGIN {
        while ((getline line < table) > 0) {
            if (line ~ /^[ \t]*(#|$)/) continue
            split(line, field, "|")
            for (i in field) gsub(/^[ \t]+|[ \t]+$/, "", field[i])
            if (field[1] == "only") { narrow[field[2]] = " " field[3] " "; continue }
            layer[field[2]] = field[1]
            count = split(field[3], headers, " ")
            for (i = 1; i <= count; ++i) allowed[headers[i], field[2]] = third_party[headers[i]] = 1
        }
    }
    {
        ++seen
        mine = owner($1)
        if (mine == "") { complain("folder without a row in layers.txt"); next }
        if (!match($3, /["<][^">]*[">]/)) { complain("include of a macro"); next }
        target = substr($3, RSTART + 1, RLENGTH - 2)

        for (header in third_party)
            if (index(target, header) == 1 && !((header, mine) in allowed))
                complain(target " belongs to another folder: see layers.txt")
        if (target ~ /^(immintrin|[a-z]?mmintrin|x86intrin|avx[a-z0-9]*intrin|arm_neon)\.h$/ && $1 ~ /^(engine|jitgen|data)\// && $1 !~ /fp_environment/)
            complain(target ": vector code comes from jitgen alone")
        if (target ~ /^(iostream|ostream|istream|sstream|fstream|regex|functional)$/ && $1 ~ /^(engine|jitgen|data)\//)
            complain("<" target "> is not used in the engine")
        if (substr($3, RSTART, 1) == "<") next

        if (target == "volta.h") target = "include/volta.h"
        theirs = owner(target)
        if (theirs == "") {
            generated = 0
            for (header in third_party) if (index(target, header) == 1) generated = 1
            if (layer[mine] == "public" && target ~ /^tests\/support\// && mine ~ /^tests/) next
            if (!generated) complain("\"" target "\" is not written from the root of the repository")
        } else if (theirs == mine) {
            next
        } else if (layer[mine] == "public") {
            if (theirs != "include") complain(mine " sees volta.h only, not " target)
        } else if (layer[theirs] == "public" || layer[theirs] + 0 >= layer[mine] + 0) {
            complain(mine " (layer " layer[mine] ") may not include " target " (layer " layer[theirs] ")")
        } else if (theirs in narrow && !is_listed($1, narrow[theirs])) {
            complain("only" narrow[theirs] "may include " target)
        }
    }
    END {
        if (seen == 0) { print "no includes found: wrong folder?"; exit 1 }
        if (failed) exit 1
        print seen " includes follow layers.txt"
    }'
