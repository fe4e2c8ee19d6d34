# Succeeds when version $1 is older than version $2. A version is three numbers joined by dots.
[ "$1" != "$2" ] && [ "$(printf '%s\n' "$1" "$2" | sort | head -n 1)" = "$1" ]
