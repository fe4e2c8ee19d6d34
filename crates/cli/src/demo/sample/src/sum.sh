# Adds up the amounts of lines like `NAME AMOUNT` on standard input.
total=0
while read -r name amount; do
    total=$((total + amount))
done
echo "$total"
