. ./tests/expect.sh
older() { if sh src/older.sh "$1" "$2"; then echo yes; else echo no; fi; }
expect "1.2.3 is older than 1.2.4" yes "$(older 1.2.3 1.2.4)"
expect "a version is not older than itself" no "$(older 1.2.3 1.2.3)"
expect "1.9.0 is older than 1.10.0" yes "$(older 1.9.0 1.10.0)"
expect "1.10.0 is not older than 1.9.0" no "$(older 1.10.0 1.9.0)"
finish
