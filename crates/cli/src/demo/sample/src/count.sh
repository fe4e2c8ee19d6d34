# Counts how often the name $1 opens a line of standard input.
found=0
while read -r name rest; do
    if [ "$name" = "$1" ]; then found=$((found + 1)); fi
done
echo "$found"
