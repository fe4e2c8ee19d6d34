# Prints the title $1 as a name for addresses: small letters and digits, words joined by one dash.
printf '%s' "$1" | tr 'A-Z' 'a-z' | tr -c 'a-z0-9' '-'
