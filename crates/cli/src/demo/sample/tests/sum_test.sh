. ./tests/expect.sh
expect "two lines" 30 "$(printf 'ann 10\nbob 20\n' | sh src/sum.sh)"
expect "nothing" 0 "$(printf '' | sh src/sum.sh)"
expect "no newline after the last line" 30 "$(printf 'ann 10\nbob 20' | sh src/sum.sh)"
finish
