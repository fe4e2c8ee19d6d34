# What the tests share: expect WHAT EXPECTED ACTUAL, and finish at the end.
passed=0
failed=0
expect() {
    if [ "$2" = "$3" ]; then
        echo "ok: $1"
        passed=$((passed + 1))
    else
        echo "error: $1: expected '$2', got '$3'"
        failed=$((failed + 1))
    fi
}
finish() {
    if [ "$failed" -gt 0 ]; then
        echo "$failed failed, $passed passed"
        exit 1
    fi
    echo "$passed passed"
}
