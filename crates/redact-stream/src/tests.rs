use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// Secrets are put together here, so that no scanner takes this file for a leak.
fn secrets() -> Vec<(&'static str, String)> {
    let letters = |length: usize| "aB3dE5gH7jK9mN1pQ2".chars().cycle().take(length).collect::<String>();
    let hex = |length: usize| "0a1b2c3d4e5f6789".chars().cycle().take(length).collect::<String>();
    vec![
        ("aws-access-key", format!("AKIA{}", "IOSFODNN7QWERTYU")),
        ("aws-access-key", format!("ASIA{}", "IOSFODNN7QWERTYU")),
        ("github-token", format!("ghp_{}", letters(36))),
        ("github-token", format!("gho_{}", letters(36))),
        ("github-token", format!("ghu_{}", letters(36))),
        ("github-token", format!("ghs_{}", letters(36))),
        ("github-token", format!("ghr_{}", letters(36))),
        ("github-token", format!("github_pat_{}_{}", letters(22), letters(59))),
        ("gitlab-token", format!("glpat-{}", letters(20))),
        ("slack-token", format!("xoxb-123456789012-{}", letters(24))),
        ("slack-token", format!("xoxp-123456789012-{}", letters(24))),
        ("stripe-key", format!("sk_live_{}", letters(24))),
        ("stripe-key", format!("rk_live_{}", letters(24))),
        ("openai-key", format!("sk-{}", letters(48))),
        ("openai-key", format!("sk-proj-{}", letters(64))),
        ("anthropic-key", format!("sk-ant-api03-{}-{}", letters(40), letters(40))),
        ("google-key", format!("AIza{}", letters(35))),
        ("npm-token", format!("npm_{}", letters(36))),
        ("pypi-token", format!("pypi-AgEI{}", letters(80))),
        ("hugging-face-token", format!("hf_{}", letters(34))),
        ("sendgrid-key", format!("SG.{}.{}", letters(22), letters(43))),
        ("twilio-key", format!("SK{}", hex(32))),
        ("digitalocean-token", format!("dop_v1_{}", hex(64))),
        ("jwt", format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{}", letters(43))),
    ]
}

fn redactor() -> &'static Redactor {
    static REDACTOR: LazyLock<Redactor> = LazyLock::new(|| Redactor::new(&[], &[]).unwrap());
    &REDACTOR
}

fn redact(text: &str) -> String {
    redactor().redact_text(text).0
}

#[track_caller]
fn case(text: &str, expected: &str) {
    assert_eq!(redact(text), expected, "{text}");
    assert_eq!(redact(expected), expected, "a second time");
}

#[test]
fn every_known_shape_is_found_wherever_it_stands() {
    for (rule, secret) in secrets() {
        for (before, after) in [
            ("", ""),
            ("see ", " there"),
            ("\"", "\""),
            (r"{\n", r"\n}"),
            ("'", "',"),
            ("?a=", "&b=c"),
            ("(", "),"),
            ("%3D", "%20"),
        ] {
            case(&format!("{before}{secret}{after}"), &format!("{before}[redacted:{rule}]{after}"));
        }
    }
}

#[test]
fn every_shape_of_every_issuer_is_found() {
    for (rule, secret) in issuers::tests::samples() {
        for (before, after) in
            [("", ""), ("see: ", "\n"), ("\"", "\","), (r"\n", r"\n"), ("\u{1b}[1m", "\u{1b}[0m")]
        {
            let found = redact(&format!("{before}{secret}{after}"));
            assert_eq!(found, format!("{before}[redacted:{rule}]{after}"), "{secret}");
        }
    }
}

#[test]
fn a_replacement_of_every_rule_is_known_as_one() {
    let all: BTreeSet<&str> = rules().chain(issuers::keywords().map(|(_, issuer)| issuer.rule())).collect();
    assert!(all.iter().all(|rule| marker_end(format!("{MARKER}{rule}]").as_bytes(), 0).is_some()));
}

#[test]
fn keys_that_are_known_by_their_midst_are_found() {
    let letters = |length: usize| "aB3dE5gH7jK9mN1pQ2".chars().cycle().take(length).collect::<String>();
    let hex = |length: usize| "0a1b2c3d4e5f6789".chars().cycle().take(length).collect::<String>();
    for (rule, secret) in [
        ("telegram-token", format!("110201543:AA{}", letters(33))),
        ("mailchimp-key", format!("{}-us12", hex(32))),
        ("terraform-token", format!("{}.atlasv1.{}", letters(14), letters(67))),
        ("azure-secret", format!("abc8Q~{}", letters(34))),
        ("azure-key", format!("{}JQQJ99{}", letters(52), letters(26))),
        ("firebase-key", format!("AAAA{}:APA91b{}", letters(7), letters(134))),
    ] {
        case(&secret, &format!("[redacted:{rule}]"));
        case(&format!("see \"{secret}\""), &format!("see \"[redacted:{rule}]\""));
    }
}

#[test]
fn headers_command_lines_and_queries_lose_their_credentials() {
    let key = "aB3dE5gH7jK9mN1pQ2";
    for (text, expected) in [
        ("Cookie: theme=dark; sid=KEYKEY; x=1", "Cookie: theme=dark; sid=[redacted:cookie]; x=1"),
        ("\"set-cookie: sid=KEY; Path=/\"", "\"set-cookie: sid=[redacted:cookie]; Path=/\""),
        ("{\"cookie\": \"sid=KEY\"}", "{\"cookie\": \"sid=[redacted:cookie]\"}"),
        ("curl -u me:hunter2 https://x", "curl -u me:[redacted:password] https://x"),
        ("curl --user 'me:hunter 2' https://x", "curl --user 'me:[redacted:password]' https://x"),
        ("Basic dXNlcjpwYXNzd29yZA==", "Basic [redacted:authorization]"),
        ("https://x/y?sv=1&sig=KEY%3D&z", "https://x/y?sv=1&sig=[redacted:url-signature]&z"),
        ("https://x?X-Amz-Signature=KEYKEY\"", "https://x?X-Amz-Signature=[redacted:url-signature]\""),
        ("https://KEYKEY@host/x", "https://[redacted:url-password]@host/x"),
        (r"https:\/\/me:hunter2@host\/x", r"https:\/\/me:[redacted:url-password]@host\/x"),
        ("machine host login me password hunter2x", "machine host login me password [redacted:password]"),
        ("<password>hunter2</password>", "<password>[redacted:password]</password>"),
        (
            "<add key=\"Password\" value=\"hunter2\" />",
            "<add key=\"Password\" value=\"[redacted:password]\" />",
        ),
        (r#"{"name":"API_TOKEN","value":"abc123def"}"#, r#"{"name":"API_TOKEN","value":"[redacted:token]"}"#),
        ("- name: DB_PASSWORD\n  value: hunter2", "- name: DB_PASSWORD\n  value: [redacted:password]"),
        (r"token\u003dabc123def456\u0026x=1", r"token\u003d[redacted:token]\u0026x=1"),
        ("?api_key%3Dabc123def456&x", "?api_key%3D[redacted:secret]&x"),
        ("password: \u{1b}[32mhunter2\u{1b}[0m", "password: \u{1b}[32m[redacted:password]\u{1b}[0m"),
        (r#""secret": "wJalr\/K7MDENG""#, r#""secret": "[redacted:secret]""#),
        ("\"auth\": \"dXNlcjpwYXNzd29yZA==\"", "\"auth\": \"[redacted:secret]\""),
        ("API key: KEYKEY", "API key: [redacted:token]"),
        ("ENCRYPTION_KEY=KEY", "ENCRYPTION_KEY=[redacted:token]"),
        ("SOME_KEY=KEYKEY", "SOME_KEY=[redacted:secret]"),
        ("DB_PASS=hunter2", "DB_PASS=[redacted:password]"),
        ("MYSQL_PWD=hunter2", "MYSQL_PWD=[redacted:password]"),
        ("SECRET_KEY_BASE=KEY", "SECRET_KEY_BASE=[redacted:token]"),
        ("API_TOKEN_2=KEY", "API_TOKEN_2=[redacted:token]"),
    ] {
        case(
            &text
                .replace("KEY%", &format!("{key}{key}%"))
                .replace("KEYKEY", &key.repeat(2))
                .replace("=KEY", &format!("={key}")),
            expected,
        );
    }
    for same in [
        "Cookie: theme=dark; lang=en-GB",
        "curl -u 1000:1000 x",
        "docker run -u me:hunter2 x",
        "sort -u a:bcdef",
        "Basic authentication is not enough",
        "git log --signature=sha256",
        "\"auth\": \"oauth-personal\"",
        "PASS: test_four_2",
        "# pass 12345678",
        "PWD=/home/me/project2",
        "\"key\": \"sidebar.item.three\"",
        "cache_key=aB3dE5gH7jK9mN1pQ2aB3dE5gH7jK9mN1pQ2",
        "\"key\": \"123e4567-e89b-12d3-a456-426614174000\"",
        "key = 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "primary key: yes",
        "<token>x</token>",
    ] {
        case(same, same);
    }
}

#[test]
fn part_of_a_word_is_no_key() {
    for (_, secret) in secrets() {
        let text = format!("word{secret}");
        assert_eq!(redact(&text), text);
    }
}

#[test]
fn a_webhook_keeps_its_host() {
    let address = format!("https://hooks.slack.com/services/{}", "T00000000/B00000000/abcdefghijkl");
    case(&address, "https://hooks.slack.com/services/[redacted:slack-webhook]");
}

#[test]
fn passwords_in_addresses_go_and_the_rest_stays() {
    for (text, expected) in [
        ("postgres://app:hunter2@db/x", "postgres://app:[redacted:url-password]@db/x"),
        (
            "git clone https://me:p%40ss@example.com/a.git",
            "git clone https://me:[redacted:url-password]@example.com/a.git",
        ),
        ("redis://:s3cr3t@localhost:6379", "redis://:[redacted:url-password]@localhost:6379"),
        ("amqp://u:p@ss@host", "amqp://u:[redacted:url-password]@host"),
        ("\"https://a:bcd@e\\n\"", "\"https://a:[redacted:url-password]@e\\n\""),
    ] {
        case(text, expected);
    }
    let token = format!("ghp_{}", "a1".repeat(18));
    case(&format!("https://{token}:x-oauth-basic@github.com"), "https://[redacted:url-password]@github.com");
    case(&format!("https://{token}@github.com"), "https://[redacted:github-token]@github.com");
    for same in [
        "https://example.com/a:b@c",
        "http://localhost:8080/@scope/name",
        "ssh://git@github.com/x",
        "https://user:${PASSWORD}@host",
        "https://user:<password>@host",
        "https://user:***@host",
        "see https://a.b: c@d",
    ] {
        case(same, same);
    }
}

#[test]
fn values_of_secret_names_go() {
    for (text, expected) in [
        ("MY_SECRET=hunter2", "MY_SECRET=[redacted:secret]"),
        ("export API_TOKEN=abcdefgh", "export API_TOKEN=[redacted:token]"),
        ("DB_PASSWORD=correct-horse\nX=1", "DB_PASSWORD=[redacted:password]\nX=1"),
        ("STRIPE_API_KEY='abc123def'", "STRIPE_API_KEY='[redacted:secret]'"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfi", "AWS_SECRET_ACCESS_KEY=[redacted:secret]"),
        ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG", "aws_secret_access_key = [redacted:secret]"),
        ("APP_PASSPHRASE=\"four words of mine\"", "APP_PASSPHRASE=\"[redacted:password]\""),
        ("password=hunter2&user=me", "password=[redacted:password]&user=me"),
        ("{\"api_key\": \"abc123def456\"}", "{\"api_key\": \"[redacted:secret]\"}"),
        ("{\"apiKey\":\"abc123def456\"}", "{\"apiKey\":\"[redacted:secret]\"}"),
        (r#"{"x":"{\"api_key\": \"abc123def456\"}"}"#, r#"{"x":"{\"api_key\": \"[redacted:secret]\"}"}"#),
        (r#""a\nDB_TOKEN=abc123xyz\nB=2""#, r#""a\nDB_TOKEN=[redacted:token]\nB=2""#),
        ("  password: hunter2", "  password: [redacted:password]"),
        ("password: swordfish\nuser: me", "password: [redacted:password]\nuser: me"),
        ("client_secret: 'q8Zk-22_aa'", "client_secret: '[redacted:secret]'"),
        ("'token' => 'abc123def456'", "'token' => '[redacted:token]'"),
        ("os.environ['API_TOKEN'] = 'abc123def456'", "os.environ['API_TOKEN'] = '[redacted:token]'"),
        ("const password: &str = \"hunter2\";", "const password: &str = \"[redacted:password]\";"),
        ("login --password hunter2 --user me", "login --password [redacted:password] --user me"),
        ("\"password\": \"a\\\"b1\"", "\"password\": \"[redacted:password]\""),
        ("Authorization: Bearer abc123def456", "Authorization: Bearer [redacted:authorization]"),
        ("-H 'authorization: Basic dXNlcjpwYXNz'", "-H 'authorization: Basic [redacted:authorization]'"),
        (
            "\"Authorization\": \"token abc123def456\"",
            "\"Authorization\": \"token [redacted:authorization]\"",
        ),
        ("header Bearer abcdef0123456789", "header Bearer [redacted:authorization]"),
    ] {
        case(text, expected);
    }
}

#[test]
fn what_only_looks_like_a_secret_stays() {
    for same in [
        "token = 5",
        "let token = self.next_token();",
        "let token = tokens[0];",
        "PASSWORD_MIN_LENGTH=8",
        "max_tokens: 4096, \"output_tokens\": 1820",
        "\"token\": \"identifier\"",
        "API_TOKEN=",
        "API_TOKEN=${API_TOKEN}",
        "API_TOKEN=$TOKEN",
        "API_KEY=<your key>",
        "api_key: \"your-api-key-here\"",
        "\"API_KEY\": \"dummy-key\"",
        "password: ***",
        "password=xxxxxxxx",
        "password: null",
        "password: true",
        "password: string;",
        "password: Option<String>,",
        "password = process.env.DB_PASSWORD",
        "password = os.environ[\"DB_PASSWORD\"]",
        "password = os.getenv('DB_PASSWORD')",
        "secret: ${{ secrets.DEPLOY_KEY }}",
        "password=password, token=user_token",
        "password = config.password",
        "\"password\": \"Enter your password\"",
        "type=\"password\" name=\"password\"",
        "if token == \"abc123def456\"",
        "Token::Ident(name)",
        "the password: it must have 8 characters",
        "Authorization: required",
        "Authorization: Bearer $TOKEN",
        "Authorization: Bearer <token>",
        "commit 4bca6d3e2f1a0b9c8d7e6f5a4b3c2d1e0f9a8b7c",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "id 6ba7b810-9dad-11d1-80b4-00c04fd430c8",
        "\"integrity\": \"sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg==\"",
        "checksum = \"8b5288124840bee7b386bc413c487869b360b2b4ec421ea56425128692f2a82c\"",
        "class=\"sk-fading-circle12-of-many-dots\" task-sk-loading",
        "npm_config_user_agent, hf_hub_download, SKIPPED",
        "\"-----BEGIN PRIVATE KEY-----\" is how a block begins",
        "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n-----END CERTIFICATE-----",
    ] {
        case(same, same);
    }
}

#[test]
fn private_keys_go_whole_however_their_lines_end() {
    let line = "MIIEpAIBAAKCAQEA7bq3fQ2v0Zk1cX9wYd5uR8sT4nJ6hL0pQeWrAsDfGhJkLzXc";
    for end in [
        "\n",
        "\r\n",
        "\\n",
        "\\\\n",
        "\n   12\u{2192}",
        "\n+",
        "\n-",
        "\n> ",
        "\nid_rsa:7:",
        "\n2026-01-02T03:04:05Z INFO x: ",
        "\\n-",
        "\\n  7\\u2192",
        "\\n\" +\n  \"",
    ] {
        for label in ["RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PRIVATE KEY", "PGP PRIVATE KEY BLOCK"] {
            let block = [
                &format!("-----BEGIN {label}-----"),
                line,
                line,
                "q8Zk==",
                &format!("-----END {label}-----"),
            ]
            .join(end);
            case(&format!("a {block} b"), "a [redacted:private-key] b");
        }
        let cut = ["-----BEGIN RSA PRIVATE KEY-----", line, line].join(end);
        for before in ["", "API_TOKEN=", "PRIVATE_KEY=\"", "password: ", "--password "] {
            let cut = format!("{before}{cut}");
            assert!(!redact(&cut).contains("MIIEpAIB"), "{cut}");
        }
    }
    // As the value of a variable, and behind a bare escape, with which the replacement would look like one that ends with `r`.
    for name in [
        "API_TOKEN=",
        "TLS_PRIVATE_KEY=",
        "api_key: ",
        "API_TOKEN=\u{1b}",
        "x \\u001b",
        "\\x1b",
        "\u{1b}[1m\u{1b}",
    ] {
        case(&format!("{name}{BLOCK}\n"), &format!("{name}[redacted:private-key]\n"));
    }
    case("\u{1b}[rAPI_TOKEN=aB3dE5gH7jK9\u{1b}[r", "\u{1b}[rAPI_TOKEN=[redacted:token]\u{1b}[r");
    case(
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B2C3D\n\nLINE\nq8Zk==\n\nand so on"
            .replace("LINE", line).as_str(),
        "[redacted:private-key]\n\nand so on",
    );
    let key = |length: usize| line.chars().cycle().skip(7).take(length).collect::<String>();
    let wrapped =
        format!("LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo{}\n+/{}\n{}=\nnext", key(33), key(74), key(31));
    case(&format!("see {wrapped}"), "see [redacted:private-key]\nnext");
    case(&format!("tls_key: {wrapped}"), "tls_key: [redacted:private-key]\nnext");
    case(
        &format!("secret: |\n  {}", wrapped.replace('\n', "\n  ")),
        "secret: |\n  [redacted:private-key]\n  next",
    );
}

#[test]
fn a_long_key_block_goes_to_its_end() {
    let line = "q8ZkMIIEpAIBAAKCAQEA7bq3fQ2v0Zk1cX9wYd5uR8sT4nJ6hL0pQeWrAsDfGhJk";
    let begin = "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n";
    for (lines, separator) in [(1_500, "\n"), (1_500, "\n+"), (12_000, "\\n"), (40_000, "\n")] {
        for end in ["-----END PGP PRIVATE KEY BLOCK-----", "", "\nprose"] {
            let text = format!("{begin}{}{end} of it", vec![line; lines].join(separator) + separator);
            let mut redacted = Vec::new();
            let counts = redactor().copy(text.as_bytes(), |part| {
                redacted.extend_from_slice(part);
                Ok::<(), io::Error>(())
            });
            let redacted = String::from_utf8(redacted).unwrap();
            let is_whole = text.len() < private_key::MAX_BLOCK_BYTES;
            let kept = redacted.matches(line).count();
            assert!(if is_whole { kept == 0 } else { kept > 0 }, "{kept} of {lines} stay");
            assert!(redacted.ends_with(" of it") && redacted.contains("prose") == end.contains("prose"));
            assert_eq!(counts.unwrap()["private-key"], 1);
            assert_eq!(redact(&text), redacted);
        }
    }
}

#[test]
fn source_code_that_speaks_of_blocks_stays() {
    for same in [
        "if text.contains(\"-----BEGIN RSA PRIVATE KEY-----\") {\n    return Err(KeyError::Found);\n}\n",
        "BEGIN = '-----BEGIN PRIVATE KEY-----'\n# ----- what follows -----\nEND = '-----END PRIVATE KEY-----'\n",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----\n",
        "see -----BEGIN PRIVATE KEY-----\n\ncommit 4bca6d3e2f1a0b9c8d7e6f5a4b3c2d1e0f9a8b7c\n",
    ] {
        case(same, same);
    }
}

#[test]
fn bytes_of_any_kind_stay_as_they_are() {
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    assert_eq!(redactor().redact_bytes(&bytes).0, bytes);
}

#[test]
fn rules_of_the_user_add_and_allow() {
    let redactor = Redactor::new(&["ACME-[0-9]{4,}".to_owned()], &["^hunter2$".to_owned()]).unwrap();
    let (text, counts) =
        redactor.redact_text("ACME-12345 and ACME-777777, DB_PASSWORD=hunter2 MY_SECRET=abcdefgh");
    assert_eq!(
        text,
        "[redacted:custom] and [redacted:custom], DB_PASSWORD=hunter2 MY_SECRET=[redacted:secret]"
    );
    assert_eq!(counts, Counts::from([("custom", 2), ("secret", 1)]));
}

#[test]
fn a_broken_rule_is_an_error_that_names_it() {
    let error = Redactor::new(&["a(".to_owned()], &[]).unwrap_err();
    assert_eq!(error.to_string(), "`a(` of `rules` is not a regular expression");
    let error = Redactor::new(&[], &["a*".to_owned()]).unwrap_err();
    assert_eq!(error.to_string(), "`a*` of `allow` matches an empty text");
}

#[test]
fn a_token_longer_than_any_window_goes_whole() {
    let text = format!("API_TOKEN={} MY_SECRET='{}' end", "a1".repeat(2_000_000), "b2 c".repeat(700_000));
    let mut redacted = Vec::new();
    redactor()
        .copy(text.as_bytes(), |part| {
            redacted.extend_from_slice(part);
            Ok::<(), io::Error>(())
        })
        .unwrap();
    assert_eq!(
        String::from_utf8(redacted).unwrap(),
        "API_TOKEN=[redacted:token] MY_SECRET='[redacted:secret]' end"
    );
}

#[test]
fn beginnings_without_a_secret_stay() {
    for piece in ["sk-", "eyJ-", "eyJ.", "token='a b", "://a:", "password: x(", "-----BEGIN PRIVATE KEY-----"]
    {
        let text = piece.repeat(60_000 / piece.len());
        assert!(redact(&text) == text, "{piece}");
    }
}

/// Its bytes, in pieces of given sizes.
struct Pieces<'a> {
    bytes: &'a [u8],
    sizes: std::iter::Cycle<std::vec::IntoIter<usize>>,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.sizes.next().unwrap().min(buffer.len()).min(self.bytes.len());
        buffer[..size].copy_from_slice(&self.bytes[..size]);
        self.bytes = &self.bytes[size..];
        Ok(size)
    }
}

/// Text of secrets, of what surrounds them, and of what only looks like them.
fn text(separators: &'static [&'static str]) -> impl Strategy<Value = String> {
    let known: Vec<String> =
        secrets().into_iter().chain(issuers::tests::samples()).map(|(_, secret)| secret).collect();
    let pieces = prop_oneof![
        3 => prop::sample::select(known),
        6 => prop::sample::select(vec![
            "token=", "API_TOKEN=", "\"password\": \"", "password: ", "MY_SECRET='", "https://", "user:", "@host ", "://",
            "Authorization: Bearer ", "Bearer ", "\"", "'", "\\\"", "\\", "=", ":", ".", "-", "_", "[", "]", "(", "hunter2",
            "abc", "[redacted:", "[redacted:token]", "[redacted:x", "hush-1", "hush-", "Cookie: a=", "; ", "curl -u ", "&sig=",
            "<password>", "</", ",\"value\":\"", "Basic dXNlcjpwYXNzd29yZA==", "aB3dE5gH7jK9mN1pQ2", "api key: ", "_KEY=",
            ":AAaB3dE5gH7jK9mN1pQ2aB3dE5gH7jK9mN1pQ2", "110201543", "Private-Lines: 2\n", "-----END", "\n-----END PRIVATE KEY-----",
            "MIIEpAIBAAKCAQEA7bq3fQ2v0Zk1cX9wYd5uR8sT4nJ6hL0pQeWrAsDfGhJkLzXc\n", "\u{1b}[1m", "\u{1b}[m\u{1b}[K", "\\u001b[38;5;1m", "\u{1b}", "%3D", "allowed-1", "machine login ", "AKIA", "eyJ", "ghp_", "SK", "--password ", "é", "\0", "/", "Basic ",
            "\\n", "%20", "\\u003d", "apiKey", "swordfish", "a b",
        ]).prop_map(str::to_owned),
        1 => "[ -~]{0,12}",
        4 => prop::sample::select(separators).prop_map(str::to_owned),
    ];
    prop::collection::vec(pieces, 0..14).prop_map(|pieces| pieces.concat())
}

const BLOCK: &str =
    "-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq3fQ2v0Zk1cX9wYd5uR8sT4nJ6hL0\n-----END PRIVATE KEY-----";

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn redacted_text_stays_as_it_is(text in text(&[" ", "\n", BLOCK, "-----BEGIN PRIVATE KEY-----"])) {
        static REDACTOR: LazyLock<Redactor> =
            LazyLock::new(|| Redactor::new(&["hush-[0-9a-z]+".to_owned()], &["allowed-[0-9]".to_owned()]).unwrap());
        for redactor in [redactor(), &REDACTOR] {
            let once = redactor.redact_text(&text).0;
            prop_assert_eq!(&redactor.redact_text(&once).0, &once);
        }
    }

    #[test]
    fn both_gates_see_the_same_keywords(text in text(&[" ", "\n"])) {
        prop_assert_eq!(gate::has_keyword(&SHORT_GATE, text.as_bytes()), GATE.is_match(text.as_bytes()), "{}", text);
    }

    #[test]
    fn bytes_without_secrets_come_out_equal(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        prop_assert_eq!(redactor().redact_bytes(&bytes).0, bytes);
    }

    #[test]
    fn colours_stay_and_hide_nothing(text in text(&[" ", "\n"]), places in prop::collection::vec(any::<prop::sample::Index>(), 0..20)) {
        const COLOUR: &str = "\u{1b}[38;5;7m";
        let plain = text.replace('\u{1b}', "").replace("u001b", "");
        let ends: Vec<usize> = (0..=plain.len()).filter(|&at| plain.is_char_boundary(at)).collect();
        let mut places: Vec<usize> = places.into_iter().map(|place| *place.get(&ends)).collect();
        places.sort_unstable();
        let mut coloured = plain.clone();
        for &place in places.iter().rev() {
            coloured.insert_str(place, COLOUR);
        }
        let (redacted, counts) = redactor().redact_text(&coloured);
        prop_assert!(!counts.is_empty() || redacted == coloured);
        // A key that begins or ends in the midst of a word is one in its colour alone.
        let seen = redacted.replace(COLOUR, "");
        for (_, secret) in secrets() {
            prop_assert!(!seen.contains(&secret) || redact(&plain).contains(&secret), "{:?}", redacted);
        }
        prop_assert_eq!(redact(&redacted), redacted);
    }

    #[test]
    fn lines_are_redacted_one_by_one(a in text(&[" ", "\n "]), b in text(&[" ", "\n ", "\r\n "])) {
        // Key files, and values beside the names of others, are more than a line.
        let parts = ["Private-Lines", "\"value\"", "machine", "|", "<<", ": >", ":>", "LS0t"];
        let spans_lines = |text: &str| parts.iter().any(|part| text.contains(part));
        prop_assume!(!spans_lines(&a) && !spans_lines(&b));
        // After a break without a blank, a key of a long line may go on; how long it is, the blank counts too.
        let b = format!(" {b}");
        prop_assert_eq!(redact(&format!("{a}\n{b}")), format!("{}\n{}", redact(&a), redact(&b)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn sizes_of_reads_and_windows_do_not_matter(
        parts in prop::collection::vec(text(&[" ", "\n", BLOCK]), 1..40),
        filler in "[a-z =:\"]{1,3000}",
        sizes in prop::collection::vec(1_usize..200_000, 1..5),
    ) {
        let redactor = Redactor::new(&["[a-f]+[0-9]{3}".to_owned()], &[]).unwrap();
        let mut text = String::new();
        while text.len() < scan::WINDOW * 2 + AHEAD {
            for part in &parts {
                text.push_str(part);
                text.push_str(&filler);
                text.push_str("\u{1b}[31m");
            }
        }
        let (whole, whole_counts) = redactor.redact_bytes(text.as_bytes());
        let mut streamed = Vec::new();
        let pieces = Pieces { bytes: text.as_bytes(), sizes: sizes.clone().into_iter().cycle() };
        let counts = redactor.copy(pieces, |part| { streamed.extend_from_slice(part); Ok::<(), io::Error>(()) }).unwrap();
        prop_assert!(streamed == whole);
        prop_assert_eq!(&counts, &whole_counts);

        let pieces = Pieces { bytes: text.as_bytes(), sizes: sizes.into_iter().cycle() };
        let mut reader = RedactingReader::new(&redactor, pieces);
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        prop_assert!(read == whole);
        prop_assert_eq!(reader.counts(), &whole_counts);
    }
}

#[test]
fn a_settled_text_is_not_changed_by_another_look() {
    let redactor = Redactor::new(&["b+a".to_owned()], &[]).unwrap();
    let text = "AWS_SECRET_KEY=bbbbba password=hunter22 https://user:secret@host bbabba\n";
    let settled = redactor.settle(text);
    assert_eq!(redactor.redact_text(&settled).0, settled);
    assert!(!settled.contains("hunter22") && !settled.contains("secret@"), "{settled}");
}
