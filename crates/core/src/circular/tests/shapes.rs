//! What of an error stays the same in what each tool prints: other lines, paths, times, addresses and another order are the same
//! error, and another value, test or name is another one.

use super::{different, same};

/// A text in which each of these pieces, which are there, is another.
fn again(text: &str, pieces: &[(&str, &str)]) -> String {
    let mut again = text.to_owned();
    for (from, to) in pieces {
        assert!(again.contains(from), "{from:?} is not there");
        again = again.replace(from, to);
    }
    again
}

/// The same where these pieces differ, and another one where any of those does.
fn told_by(text: &str, volatile: &[(&str, &str)], telling: &[(&str, &str)]) {
    same(text, &again(text, volatile));
    for piece in telling {
        different(text, &again(text, &[*piece]));
        // The rest being another as well makes no difference.
        different(text, &again(&again(text, volatile), &[*piece]));
    }
}

#[test]
fn what_holds_nothing_of_a_known_shape_is_told_by_all_that_it_shows() {
    let texts = [
        "warning: redirecting to https://example.org/\nfatal: repository not found",
        "warning: LF will be replaced by CRLF\nfatal: unable to write new index file",
        "warning: unused import\nFAILED tests/test_b.py::test_y - ValueError: no rows",
        "warning: unused import",
        "warning: unused variable",
        r#"{"level":"info","msg":"started"}"#,
        r#"{"level":"info","msg":"no such bucket"}"#,
    ];
    for (at, text) in texts.iter().enumerate() {
        same(text, text);
        for other in &texts[at + 1..] {
            different(text, other);
        }
    }
}

#[test]
fn warnings_of_a_compiler_come_and_go_beside_an_error() {
    let error = "error[E0308]: mismatched types\n --> src/lib.rs:3:5";
    let warning = "warning: unused variable: `a`\n --> src/lib.rs:1:9\n  |\n1 |     let a = 1;\n  |         ^\n  = note: on by default\nhelp: prefix it\n";
    same(error, &format!("{warning}\n{error}"));
    same(error, &format!("{warning}{error}"));
}

#[test]
fn moments_that_are_compared_are_values() {
    let of = |moment: &str| format!("AssertionError: expected {moment} to equal 1800000000");
    different(&of("1600000001"), &of("1512345678"));
    let beside = |moment: &str| format!("Error: upload of batch-{moment} failed");
    same(&beside("1600000001"), &beside("1512345678"));
}

#[test]
fn of_pytest_the_test_and_the_values_tell() {
    let text = "\
============================= test session starts ==============================
platform linux -- Python 3.11.7, pytest-8.1.1
rootdir: /srv/mina/shop
collected 14 items

tests/test_cart.py ....F.........                                        [100%]

=================================== FAILURES ===================================
_________________________ test_discount_is_applied_once ________________________

    def test_discount_is_applied_once():
        cart = Cart(tea)
>       assert cart.total() == 360
E       assert 324 == 360
E        +  where 324 = <shop.cart.Cart object at 0x7f3c5a0b1d50>.total()

tests/test_cart.py:58: AssertionError
=========================== short test summary info ============================
FAILED tests/test_cart.py::test_discount_is_applied_once - assert 324 == 360
========================= 1 failed, 13 passed in 0.21s =========================";
    told_by(
        text,
        &[
            ("/srv/mina/shop", "/tmp/worktrees/shop-3"),
            ("0x7f3c5a0b1d50", "0x10a4be7d0"),
            (":58:", ":71:"),
            ("0.21s", "3.80s"),
        ],
        &[
            ("324", "300"),
            ("test_discount_is_applied_once", "test_no_discount"),
        ],
    );
}

#[test]
fn of_cargo_test_the_test_and_the_values_tell_and_tests_end_in_any_order() {
    let text = "   Compiling parser v0.1.0 (/srv/parser)
    Finished `test` profile [unoptimized + debuginfo] target(s) in 1.20s
     Running unittests src/lib.rs (target/debug/deps/parser-3a4b5c6d7e8f9a0b)

running 2 tests
test tests::adds ... ok
test tests::reads_the_last_line ... FAILED

failures:

---- tests::reads_the_last_line stdout ----

thread 'tests::reads_the_last_line' panicked at src/lib.rs:12:9:
assertion `left == right` failed
  left: 3
 right: 4
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace


failures:
    tests::reads_the_last_line

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
    told_by(
        text,
        &[
            ("/srv/parser", "/builds/ci/parser"),
            ("1.20s", "14.02s"),
            ("3a4b5c6d7e8f9a0b", "0f1e2d3c4b5a6978"),
            (":12:9", ":48:5"),
            ("' panicked", "' (8123) panicked"),
            (
                "test tests::adds ... ok\ntest tests::reads_the_last_line ... FAILED",
                "test tests::reads_the_last_line ... FAILED\ntest tests::adds ... ok",
            ),
        ],
        &[
            (" right: 4", " right: 5"),
            ("reads_the_last_line", "reads_the_first_line"),
        ],
    );
}

#[test]
fn of_jest_the_test_and_what_was_received_tell() {
    let text = r#"FAIL src/cart.test.js
  ● cart › applies a discount once

    expect(received).toBe(expected) // Object.is equality

    Expected: 360
    Received: 324

      10 |   cart.apply("SPRING10");
      11 |   cart.apply("SPRING10");
    > 12 |   expect(cart.total()).toBe(360);
         |                        ^
      13 | });

      at Object.<anonymous> (src/cart.test.js:12:24)

Test Suites: 1 failed, 1 total
Tests:       1 failed, 5 passed, 6 total
Snapshots:   0 total
Time:        1.512 s"#;
    told_by(
        text,
        &[
            ("10 |", "40 |"),
            ("11 |", "41 |"),
            ("> 12 |", "> 42 |"),
            ("13 |", "43 |"),
            (":12:24", ":42:24"),
            ("1.512 s", "9.044 s"),
            ("(src/cart", "(/builds/ci/shop/src/cart"),
        ],
        &[
            ("Received: 324", "Received: 300"),
            ("applies a discount once", "applies no discount"),
        ],
    );
}

#[test]
fn of_go_test_the_test_and_what_it_says_tell_in_whichever_order() {
    let text = "\
=== RUN   TestParse
    parse_test.go:31: Parse(\"a\\nb\") = 1 lines, want 2
--- FAIL: TestParse (0.00s)
=== RUN   TestWrite
    write_test.go:12: write: file already closed
--- FAIL: TestWrite (0.02s)
FAIL
FAIL\texample.com/parser\t0.004s
FAIL";
    let turned = "\
=== RUN   TestWrite
    write_test.go:18: write: file already closed
--- FAIL: TestWrite (0.31s)
=== RUN   TestParse
    parse_test.go:77: Parse(\"a\\nb\") = 1 lines, want 2
--- FAIL: TestParse (1.20s)
FAIL
FAIL\texample.com/parser\t1.613s
FAIL";
    same(text, turned);
    for piece in [("want 2", "want 3"), ("TestWrite", "TestFlush")] {
        different(text, &again(text, &[piece]));
        different(text, &again(turned, &[piece]));
    }
}

#[test]
fn of_a_panic_of_go_the_function_tells_where_the_message_says_little() {
    let text = "\
panic: runtime error: invalid memory address or nil pointer dereference
[signal SIGSEGV: segmentation violation code=0x1 addr=0x18 pc=0x4a5b6c]

goroutine 19 [running]:
example.com/app/store.(*Cache).Get(0xc000012120, {0x51e2a0, 0x3})
\t/srv/app/store/cache.go:41 +0x1c
main.main()
\t/srv/app/main.go:12 +0x2f
exit status 2";
    told_by(
        text,
        &[
            ("goroutine 19", "goroutine 1"),
            ("0xc000012120", "0xc0000a4000"),
            ("/srv/app", "/builds/x/app"),
            (":41 +0x1c", ":55 +0x3d"),
            ("0x4a5b6c", "0x4a77aa"),
        ],
        &[("(*Cache).Get", "(*Cache).Put")],
    );
}

#[test]
fn of_tsc_the_file_and_the_message_tell_plain_and_pretty() {
    let text = "\
src/cart.ts(12,5): error TS2322: Type 'string' is not assignable to type 'number'.
src/order.ts(7,20): error TS2339: Property 'total' does not exist on type 'Order'.";
    let turned = "\
src/order.ts(9,20): error TS2339: Property 'total' does not exist on type 'Order'.
src/cart.ts(40,11): error TS2322: Type 'string' is not assignable to type 'number'.";
    let pretty = "\
src/order.ts:9:20 - error TS2339: Property 'total' does not exist on type 'Order'.

9   return order.total;
                 ~~~~~

src/cart.ts:40:11 - error TS2322: Type 'string' is not assignable to type 'number'.

40   const price: number = \"3\";
           ~~~~~


Found 2 errors in 2 files.";
    for other in [turned, pretty] {
        same(text, other);
        for piece in [("'string'", "'boolean'"), ("src/cart.ts", "src/basket.ts")] {
            different(text, &again(other, &[piece]));
        }
    }
}

#[test]
fn of_gcc_and_its_linker_the_message_tells() {
    let compiled = "\
/srv/app/src/net.c: In function 'send_all':
/srv/app/src/net.c:88:14: error: 'struct conn' has no member named 'sock'
   88 |     send(c->sock, buf, n, 0);
      |              ^~
make: *** [Makefile:12: net.o] Error 1";
    told_by(
        compiled,
        &[
            ("/srv/app", "/tmp/build-7731/app"),
            (":88:", ":93:"),
            ("   88 |", "   93 |"),
            ("make: *** [Makefile:12:", "make[2]: *** [Makefile:14:"),
        ],
        &[("named 'sock'", "named 'socket'")],
    );
    let linked = "\
/usr/bin/ld: /tmp/ccQx2LwT.o: in function `main':
main.c:(.text+0x1e): undefined reference to `parse_line'
collect2: error: ld returned 1 exit status";
    told_by(
        linked,
        &[("ccQx2LwT", "ccaB91kz"), ("0x1e", "0x2a")],
        &[("parse_line'", "parse_lines'")],
    );
}

#[test]
fn of_the_jvm_what_was_thrown_its_cause_and_where_little_is_said_the_method_tell() {
    let text = "\
2024-05-02 10:11:12.345 ERROR 4711 --- [main] o.s.boot.SpringApplication : Application run failed
Exception in thread \"main\" java.lang.IllegalStateException: no pool named orders
\tat com.acme.Pools.get(Pools.java:31)
\tat com.acme.App.main(App.java:12)
Caused by: java.sql.SQLException: Connection refused
\tat com.acme.Db.open(Db.java:77)
\t... 12 more";
    told_by(
        text,
        &[
            ("2024-05-02 10:11:12.345", "2024-06-30 23:59:01.002"),
            ("4711", "99"),
            ("thread \"main\"", "thread \"worker-3\""),
            (":31", ":35"),
            ("App.java:12", "App.java:18"),
            (":77", ":80"),
            ("... 12 more", "... 14 more"),
        ],
        &[
            ("named orders", "named users"),
            ("Connection refused", "Connection reset"),
        ],
    );
    let bare = "\
java.lang.NullPointerException
\tat com.acme.Cart.total(Cart.java:31)
\tat com.acme.CartTest.totals(CartTest.java:9)";
    told_by(
        bare,
        &[(":31", ":44"), (":9", ":12")],
        &[("Cart.total(", "Cart.apply(")],
    );
}

#[test]
fn of_kubectl_what_is_not_there_or_not_allowed_tells_and_no_pod() {
    let events = "\
Events:
  Type     Reason     Age                From     Message
  ----     ------     ----               ----     -------
  Warning  BackOff    12s (x7 over 83s)  kubelet  Back-off restarting failed container web in pod web-7d9f8b6c5d-x2kqz_shop(1f0d5c1e-0b7a-4b1e-9d57-0f3c2a1b4c5d)";
    told_by(
        events,
        &[
            ("12s (x7 over 83s)", "3m (x21 over 9m2s)"),
            ("web-7d9f8b6c5d-x2kqz", "web-5c4bb8d9f7-m9vtl"),
            (
                "1f0d5c1e-0b7a-4b1e-9d57-0f3c2a1b4c5d",
                "ab12cd34-0b7a-4b1e-9d57-0f3c2a1b4c5d",
            ),
        ],
        &[("container web", "container api")],
    );
    let missing = "Error from server (NotFound): deployments.apps \"web\" not found";
    let forbidden = "Error from server (Forbidden): deployments.apps \"web\" is forbidden: User \"ci\" cannot get resource \"deployments\"";
    different(missing, &again(missing, &[("\"web\"", "\"api\"")]));
    different(missing, forbidden);
}

#[test]
fn of_a_line_that_no_tool_is_known_by_colours_times_processes_paths_and_drawn_names_do_not_tell() {
    told_by(
        "\u{1b}[31mERROR\u{1b}[0m 2024-01-02T03:04:05Z pid=811 could not read /srv/a/app/src/config.toml: No such file or directory (request_id=6f1c2d3e)",
        &[
            ("\u{1b}[31m", ""),
            ("\u{1b}[0m", ""),
            ("2024-01-02T03:04:05Z", "2025-11-12T13:14:15Z"),
            ("pid=811", "pid=4"),
            ("/srv/a/app", "/var/tmp/x/app"),
            ("6f1c2d3e", "aa00bb11"),
        ],
        &[
            ("config.toml", "users.toml"),
            ("No such file or directory", "Permission denied"),
        ],
    );
    told_by(
        "job 0b7a1f0d-5c1e-4b1e-9d57-0f3c2a1b4c5d failed after 31.2 ms: unknown column 'tag'",
        &[
            (
                "0b7a1f0d-5c1e-4b1e-9d57-0f3c2a1b4c5d",
                "1f0d5c1e-0b7a-4b1e-9d57-0f3c2a1b4c5d",
            ),
            ("31.2 ms", "2.07 s"),
        ],
        &[("'tag'", "'tags'")],
    );
}

#[test]
fn of_a_sanitizer_addresses_and_processes_do_not_tell_and_the_function_does() {
    told_by(
        "\
==811==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000010 at pc 0x0000004f6c11
    #0 0x4f6c10 in parse src/parse.c:12
",
        &[
            ("==811==", "==4=="),
            ("0x602000000010", "0x60200000ef50"),
            ("0x0000004f6c11", "0x0000004f7d22"),
            ("0x4f6c10", "0x4f7d21"),
            (":12", ":19"),
        ],
        &[("heap-use-after-free", "stack-buffer-overflow")],
    );
}
