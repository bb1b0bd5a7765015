# C and C++ source without comments and without what stands inside string and character literals. Line numbers stay.
# Raw strings are not understood; the engine has none.
{
    out = ""
    n = length($0)
    for (i = 1; i <= n; ++i) {
        two = substr($0, i, 2)
        one = substr($0, i, 1)
        if (comment) {
            if (two == "*/") { comment = 0; ++i }
        } else if (two == "//") {
            break
        } else if (two == "/*") {
            comment = 1; ++i
        } else if (one == "\"" || (one == "'" && substr($0, i - 1, 1) !~ /[0-9a-fA-F]/)) {
            out = out one
            for (++i; i <= n && substr($0, i, 1) != one; ++i)
                if (substr($0, i, 1) == "\\") ++i
            out = out one
        } else {
            out = out one
        }
    }
    print out
}
