//! What is masked, what is left alone, and what holds of any text.

use proptest::prelude::*;

use super::*;

/// Splits each sample in two, so that no file of the project holds a whole key.
fn joined(parts: &[&str]) -> String {
    parts.concat()
}

fn hidden(text: &str, secret: &str) {
    let masked = mask(text);
    assert!(masked.count > 0, "nothing was masked in {text}");
    assert!(
        !masked.text.contains(secret),
        "{secret} is still in {}",
        masked.text
    );
    assert!(masked.text.contains("[masked:"), "{}", masked.text);
}

#[test]
fn keys_are_known_by_their_own_shape() {
    let x36 = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6gH9";
    let hex = "0123456789abcdef".repeat(4);
    for secret in [
        joined(&["AK", "IAIOSFODNN7EXAMPLE"]),
        joined(&["gh", "p_", x36]),
        joined(&["gh", "o_", x36]),
        joined(&["github", "_pat_", x36]),
        joined(&["gl", "pat-", "xY12345678901234_-ab"]),
        joined(&["xo", "xb-", "123456789012-abcdefABCDEF"]),
        joined(&["s", "k-", "proj-", x36]),
        joined(&["s", "k-", "ant-api03-", x36]),
        joined(&["AI", "za", "SyA1234567890abcdefghijklmnopqrstuv"]),
        joined(&["sk", "_live_", "4eC39HqLyjWDarjtT1zdp7dc"]),
        joined(&["np", "m_", x36]),
        joined(&["py", "pi-", "AgEIcHlwaS5vcmc", x36]),
        joined(&[
            "ey",
            "JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0",
        ]),
        joined(&["sl", "k_", &hex]),
    ] {
        for text in [
            secret.clone(),
            format!("use {secret}, please"),
            format!("{{\"a\":\"x\\n{secret}\"}}"),
            format!("K={secret}\n"),
        ] {
            hidden(&text, &secret);
        }
    }
}

#[test]
fn private_keys_go_with_their_body() {
    for kind in [
        "RSA PRIVATE KEY",
        "PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
    ] {
        let body = "MIIEpAIBAAKCAQEA7bq0".repeat(4);
        for end in ["\n", "\\n"] {
            let block =
                format!("-----BEGIN {kind}-----{end}{body}{end}{body}{end}-----END {kind}-----");
            hidden(&format!("before {block} after"), &body);
            assert_eq!(
                mask(&format!("before {block} after")).text,
                "before [masked:private_key] after"
            );
        }
        hidden(&format!("-----BEGIN {kind}-----\n{body}\ncut"), &body);
    }
    let public =
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----";
    assert_eq!(mask(public).count, 0);
    assert_eq!(
        mask("if line == \"-----BEGIN RSA PRIVATE KEY-----\":").count,
        0
    );
}

#[test]
fn assignments_hide_their_value_in_every_form() {
    for text in [
        "password = \"hunter2\"",
        "password='hunter2'",
        "{\"password\": \"hunter2\"}",
        "{\"args\":\"{\\\"password\\\":\\\"hunter2\\\"}\"}",
        "DB_PASSWORD=hunter2",
        "export PASSWORD=hunter2",
        "password: hunter2",
        "  db:\n    passwd: hunter2\n",
        "mysql --password hunter2 -u root",
        "mysql --password=hunter2",
        "curl 'https://h/?user=a&password=hunter2&x=1'",
        "os.environ[\"PASSWORD\"] = \"hunter2\"",
        "password: str = \"hunter2\"",
        "userPassword=hunter2",
        "Server=db;Uid=sa;Pwd=hunter2;",
        "\"password\" => \"hunter2\"",
    ] {
        hidden(text, "hunter2");
    }
    let key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
    for text in [
        format!("aws_secret_access_key = {key}"),
        format!("AWS_SECRET_ACCESS_KEY={key}"),
        format!("\"secretAccessKey\": \"{key}\""),
        format!("client_secret: \"{key}\""),
        format!("api_key={key}"),
        format!("x-api-key: {key}"),
        format!("apiKey: '{key}'"),
        format!("--token {key}"),
        format!("GITHUB_TOKEN={key}"),
        format!("auth_token: {key}"),
    ] {
        hidden(&text, key);
    }
    hidden("{\"password\": 12345678}", "12345678");
    assert_eq!(
        mask("{\"password\": 12345678}").text,
        "{\"password\": \"[masked:password]\"}"
    );
    hidden("password = \"correct horse battery staple\"", "horse");
}

#[test]
fn headers_and_urls_hide_their_credentials() {
    hidden("Authorization: Bearer abc.def-ghi_123", "abc.def-ghi_123");
    hidden(
        "curl -H \"Authorization: Basic dXNlcjpwYXNz\" https://h",
        "dXNlcjpwYXNz",
    );
    hidden(
        "{\"authorization\":\"Bearer 0123456789abcdef0123\"}",
        "0123456789abcdef0123",
    );
    hidden(
        "sent Bearer 0123456789abcdef0123 along",
        "0123456789abcdef0123",
    );
    assert_eq!(
        mask("postgres://app:s3cr3t@db:5432/x").text,
        "postgres://app:[masked:url_password]@db:5432/x"
    );
    assert_eq!(
        mask("git clone https://u:p%40ss@h/r.git").text,
        "git clone https://u:[masked:url_password]@h/r.git"
    );
}

#[test]
fn ordinary_text_is_left_alone() {
    for text in [
        "commit 3ea751c087f32b16e039a2233dd6eefecef325d5 on main",
        "f47ac10b-58cc-4372-a567-0e02b2c3d479",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4",
        "the next token is an identifier; tokens: 1234567890",
        "max_tokens=128000, token: 4096",
        "token = lexer.next_token()",
        "token=token, password=password",
        "def login(user: str, password: str) -> Token:",
        "struct Login { password: String, secret: Option<String> }",
        "password = self.password",
        "secret = config.secret1",
        "password: incorrect",
        "PASSWORD=$DB_PASSWORD docker run -e PASSWORD=${PASSWORD}",
        "PWD=/srv/user OLDPWD=/tmp",
        "pwd; cd src",
        "https://example.com:8080/a@b and http://[::1]:80/",
        "git@github.com:acme/api.git",
        "task-abcdefghijklmnopqrstuvwxyz0123456789",
        "sk-fading-circle-of-dots-and-more",
        "secretary: alice1234",
        "if token == \"+\": pass",
        "{\"token\": \"identifier\"}",
        "Authorization: Bearer $TOKEN",
        "Authorization: Bearer <token>",
        "비밀번호를 잊었다. 토큰이 없다.",
        "access keys are listed under /keys",
    ] {
        let masked = mask(text);
        assert_eq!((masked.count, &*masked.text), (0, text));
        assert!(matches!(masked.text, Cow::Borrowed(_)));
    }
}

#[test]
fn what_stands_around_a_secret_stays() {
    let text = "a = 1\npassword = \"hunter2\"  # why\nb = 2";
    assert_eq!(
        mask(text).text,
        "a = 1\npassword = \"[masked:password]\"  # why\nb = 2"
    );
    let two = mask("DB_PASSWORD=hunter2 API_KEY=abcdef123456");
    assert_eq!(
        (two.count, &*two.text),
        (2, "DB_PASSWORD=[masked:password] API_KEY=[masked:api_key]")
    );
}

#[test]
fn json_stays_json() {
    for text in [
        "{\"password\": \"a\\\"b\\\\\", \"x\": 1}",
        "{\"password\":1234567,\"token\":null,\"secret\":{\"a\":1}}",
        "{\"cmd\":\"export PASSWORD=abc123\\nrun --token abcdef12\"}",
        "{\"args\":\"{\\\"password\\\":\\\"a b\\\",\\\"k\\\":\\\"v\\\"}\"}",
        "{\"url\":\"https://u:pw@h/\",\"authorization\":\"Bearer abcdefgh\"}",
    ] {
        let masked = mask(text);
        assert!(masked.count > 0);
        serde_json::from_str::<serde_json::Value>(&masked.text)
            .unwrap_or_else(|error| panic!("{}: {error}", masked.text));
    }
}

#[test]
fn hostile_text_of_eight_mebibytes_is_read_in_bounded_steps() {
    // A defect that reads on from every marker would take hours here.
    for part in [
        "eyJ",
        "sk-",
        "password=\"",
        "password=",
        "token: a",
        "://",
        "://a:",
        "-----BEGIN PRIVATE KEY-----",
        "--password ",
        "authorization: ",
        "bearer a",
        "password=\\\\\"",
        "secret",
        "AKIA",
        "password='password=\"",
    ] {
        let text = part.repeat((8 << 20) / part.len());
        let masked = mask(&text);
        assert!(masked.text.len() <= text.len() * 4);
    }
}

fn fragment() -> impl Strategy<Value = String> {
    let known = proptest::sample::select(vec![
        "password",
        "token",
        "api_key",
        "secret",
        "PASSWORD",
        "Authorization",
        "Bearer ",
        "=",
        ":",
        ": ",
        "\"",
        "'",
        "\\\"",
        "\\",
        "[masked:password]",
        "[masked:",
        "]",
        "://",
        "@",
        "eyJ",
        ".",
        "sk-",
        "ghp_",
        "-----BEGIN PRIVATE KEY-----",
        "-----END ",
        "\n",
        " ",
        "--",
        "hunter2",
        "abcdefghij0123456789",
        "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6gH9",
        "AKIAIOSFODNN7EXAMPL",
        "E",
        "user:pw@host/",
        "한글",
        "12345678",
        ",",
        "}",
        "{",
    ]);
    prop_oneof![8 => known.prop_map(str::to_owned), 1 => "[ -~]{0,6}", 1 => ".{0,4}"]
}

#[test]
fn a_closing_line_ends_with_its_label_whatever_text_follows() {
    let after = "한글".repeat(40);
    for shift in 0..4 {
        let block = format!(
            "-----BEGIN PRIVATE KEY----------END {}{after}",
            "X".repeat(shift)
        );
        let masked = mask(&block).text.into_owned();
        assert_eq!(masked, format!("[masked:private_key]{after}"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn masking_again_changes_nothing(parts in proptest::collection::vec(fragment(), 0..24)) {
        let text = parts.concat();
        let once = mask(&text);
        let twice = mask(&once.text);
        prop_assert_eq!(twice.count, 0);
        prop_assert_eq!(&twice.text, &once.text);
        prop_assert_eq!(once.count == 0, once.text == text);
    }

    #[test]
    fn a_secret_is_masked_whatever_text_stands_around_it(before in "[a-z ]{0,20}[ \n(]", after in "[ \n,)][a-z ]{0,20}") {
        let secret = joined(&["gh", "p_", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6gH9"]);
        let masked = mask(&format!("{before}{secret}{after}")).text.into_owned();
        prop_assert_eq!(masked, format!("{before}[masked:github_token]{after}"));
    }
}

#[test]
fn a_masked_text_is_cut_between_characters_and_not_within_what_stands_for_a_secret() {
    let masked = "é [masked:password] é [more]";
    let secret = 3..3 + "[masked:password]".len();
    for end in 0..=masked.len() {
        let cut = whole_before(masked, end);
        let expected = match end {
            1 => 0,
            _ if secret.contains(&end) && end > secret.start => secret.start,
            _ if !masked.is_char_boundary(end) => end - 1,
            _ => end,
        };
        assert_eq!(cut, expected, "{end}");
    }
}
