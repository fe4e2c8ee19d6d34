. ./tests/expect.sh
expect "two of three" 2 "$(printf 'ann 1\nbob 2\nann 3\n' | sh src/count.sh ann)"
expect "no newline after the last line" 2 "$(printf 'ann 1\nbob 2\nann 3' | sh src/count.sh ann)"
finish
