//! Secrets by what surrounds them, and keys in the disguises of terminals and encodings.

use std::sync::LazyLock;

use super::Redactor;

static REDACTOR: LazyLock<Redactor> = LazyLock::new(|| Redactor::new(&[], &[]).unwrap());

#[track_caller]
fn goes(text: &str, secret: &str) {
    let (redacted, _) = REDACTOR.redact_text(text);
    assert!(!redacted.contains(secret), "{text:?} became {redacted:?}");
    assert!(redacted.contains("[redacted:"), "{text:?} became {redacted:?}");
    assert_eq!(REDACTOR.redact_text(&redacted).0, redacted, "a second time");
}

#[track_caller]
fn stays(text: &str) {
    assert_eq!(REDACTOR.redact_text(text).0, text);
}

const PASSWORD: &str = "Zx81-q7Fw";

#[test]
fn passwords_go_where_a_command_a_file_or_a_statement_takes_them() {
    for pattern in [
        "mysql -h db -u root -pPW shop",
        "mysqldump -uroot -p'PW' shop",
        "sshpass -p PW ssh me@host",
        "sshpass -pPW ssh me@host",
        "sshpass -p 'PW' ssh me@host",
        "redis-cli -h cache -a PW ping",
        "docker login -u me -p PW registry.example.org",
        "[\"docker login\", \"-u\", \"me\", \"-p\", \"PW\"]",
        "ldapsearch -x -D cn=admin -w PW -b dc=example",
        "zip -P PW out.zip a b",
        "zip -r -PPW out.zip a b",
        "7z a -pPW out.7z a",
        "openssl enc -aes-256-cbc -pass pass:PW -in a",
        "openssl rsa -passin pass:PW -in a",
        "openssl rsa -passin 'pass:PW' -in a",
        "echo PW | sudo -S apt-get update",
        "echo 'PW' | sudo -S -k true",
        "echo \"PW\" | docker login -u me --password-stdin",
        "sudo -S <<< PW true",
        "echo root:PW | chpasswd",
        "db.example.org:5432:shop:me:PW",
        "*:*:*:me:PW",
        "CREATE USER me IDENTIFIED BY 'PW';",
        "ALTER USER me IDENTIFIED WITH mysql_native_password BY 'PW';",
        "create user me identified by \"PW\"",
        "CREATE ROLE me LOGIN PASSWORD 'PW';",
        "ALTER ROLE me WITH PASSWORD 'PW';",
        "ALTER USER me WITH ENCRYPTED PASSWORD 'PW'",
        "SET PASSWORD FOR me = PASSWORD 'PW'",
        "ENV DB_PASSWORD PW",
        "ARG API_TOKEN PWPW",
        "setenv DB_PASSWORD PW",
        "set -gx DB_PASSWORD PW",
        "aws configure set aws_secret_access_key PWPWPW",
        "git config --global my.password PW",
        "define('DB_PASSWORD', 'PW');",
        "define(\"AUTH_KEY\", \"PWaB3dE5gH7jK9mN1pQ2\");",
        "config.put(\"password\", \"PW\");",
        "password: |\n    PW\nuser: me\n",
        "  db_password: >-\n    PW\n  user: me\n",
        "{\"y\": \"password: |\\n  PW\\nuser: me\"}",
        "password<<EOF\nPW\nEOF\n",
        "DB_PASSWORD=$(cat <<'EOF'\nPW\nEOF\n)",
        "::set-output name=db_password::PW",
        "echo \"::set-output name=token::PWPW\"",
        "::add-mask::PW",
        "##vso[task.setvariable variable=password;issecret=true]PW",
        "echo \"password=PW\" >> $GITHUB_OUTPUT",
        "| user | password |\n|------|----------|\n| me   | PW |\n",
        " user | password  | id\n------+-----------+----\n me   | PW | 1\n you  | other-1x | 2\n(2 rows)\n",
        "| setting | value |\n|---|---|\n| db_password | PW |\n| port | 5432 |\n",
        "-[ RECORD 1 ]---\nname     | me\npassword | PW\nrole     | dba1\n",
        "useradd -m -p PW me",
        "| id | api_token |\n| --- | --- |\n| 1 | PW |\n",
        "Content-Disposition: form-data; name=\"password\"\r\n\r\nPW\r\n--x",
        "machine example.org\n  login me\n  password PW\n",
        "wget --user=me --password=PW https://example.org",
        "https://me:PW@example.org",
        "psql postgresql://me:PW@db/shop",
        "password = PW\n",
        "Server=x;User Id=sa;Password=PW;Encrypt=true",
        "username=me&password=PW&remember=1",
        "spring.datasource.password=PW",
        "_password=PW",
        "kubectl create secret generic x --from-literal=password=PW",
    ] {
        goes(&pattern.replace("PW", PASSWORD), PASSWORD);
    }
}

#[test]
fn all_cells_of_a_column_of_passwords_go_and_the_others_stay() {
    let text = " name | password | role\n------+----------+------\n ada  | Zx81-q7F | dba1\n bob  | Kw72+m3x | dev2\n";
    let expected = " name | password | role\n------+----------+------\n ada  | [redacted:password] | dba1\n bob  | [redacted:password] | dev2\n";
    assert_eq!(REDACTOR.redact_text(text).0, expected);
}

#[test]
fn what_only_looks_like_a_command_with_a_password_stays() {
    for same in [
        "mkdir -p target/release/deps",
        "mysql -u root -p shop",
        "docker run -p 8080:80 nginx1",
        "ssh -p 2222 me@host",
        "grep -a needle1 hay",
        "cargo test -p crate2 -- name",
        "echo hello1 | sudo tee /etc/hosts",
        "sudo -S true",
        "127.0.0.1:5432: connection refused",
        "src/main.rs:543:12:error:x1",
        "identified by 3 reviewers",
        "ENV PATH /usr/local/bin",
        "| name | kind |\n|---|---|\n| password | string |\n| token | uuid4 |\n| api_key | the key |\n",
        "| token | meaning |\n|---|---|\n| `a1b2c3` | a name |\n",
        "| option | token |\n|---|---|\n| x | the name of it |\n",
        "password: |\n",
        "cat <<EOF\nhello\nEOF",
    ] {
        stays(same);
    }
}

#[test]
fn a_password_as_it_is_kept_by_unix_and_web_servers_goes() {
    let letters = |length: usize| "aB3dE5gH7jK9mN1pQ2/.".chars().cycle().take(length).collect::<String>();
    for hash in [
        format!("$6$saltsalt${}", letters(86)),
        format!("$6$rounds=5000$saltsalt${}", letters(86)),
        format!("$5$saltsalt${}", letters(43)),
        format!("$1$saltsalt${}", letters(22)),
        format!("$apr1$saltsalt${}", letters(22)),
        format!("$2y$10${}", letters(53)),
        format!("$y$j9T${}${}", letters(22), letters(43)),
    ] {
        goes(&format!("root:{hash}:19000:0:99999:7:::"), &hash);
        goes(&format!("me:{hash}\n"), &hash);
    }
}

#[test]
fn a_key_in_the_colours_and_escapes_of_its_medium_goes_whole() {
    let body = "aB3dE5gH7jK9mN1pQ2aB3dE5gH7jK9mN1pQ2";
    let (front, back) = body.split_at(24);
    let (few, most) = body.split_at(9);
    let line = "x".repeat(30) + " = ";
    for text in [
        format!("\u{1b}[31mghp_{body}\u{1b}[0m"),
        format!("\u{1b}[01;31m\u{1b}[Kghp_\u{1b}[m\u{1b}[K{body}"),
        format!("gh\u{1b}[31mp_\u{1b}[0m{body}"),
        format!("ghp_{front}\u{1b}[31m{back}\u{1b}[0m"),
        format!("ghp_{few}\u{1b}[31m{most}\u{1b}[0m"),
        format!("{{\"t\":\"ghp_{few}\\u001b[31m{most}\"}}"),
        format!("{{\"t\":\"ghp\\u005f{body}\"}}"),
        format!("{{\"t\":\"ghp\\\\u005f{body}\"}}"),
        format!("?t=ghp%5F{body}&x=1"),
        format!("?t=%67%68%70%5F{body}&x=1"),
        format!("?t=glpat%2D{body}"),
        format!("glpat\\u002d{front}\\u005f{back}"),
        format!("{line}ghp_{front}\n{back}\n"),
        format!("{line}ghp_{few}\r\n{most}\n"),
        format!("{{\"t\":\"{line}ghp_{few}\\n{most}\"}}"),
        format!("{line}dop_v1_{}\n{}\n", "0a1b2c3d4e5f6789".repeat(2), "0a1b2c3d4e5f6789".repeat(2)),
    ] {
        goes(&text, back);
        goes(&text, &most[..12]);
    }
}

/// How programs colour a text: before and after each of its parts.
const COLOURS: [(&str, &str); 12] = [
    ("\u{1b}[01;31m\u{1b}[K", "\u{1b}[m\u{1b}[K"),
    ("\u{1b}[34;1m", "\u{1b}[0m"),
    ("\u{1b}[38;5;149m", "\u{1b}[39m"),
    ("\u{1b}[38;2;255;255;255m\u{1b}[48;2;10;20;30m", "\u{1b}[0m"),
    ("\u{1b}[38:2::255:0:0m", "\u{1b}[m"),
    ("\u{1b}[1m", "\u{1b}(B\u{1b}[m"),
    ("\u{1b}[32m", "\u{1b}[0m\u{1b}[2K"),
    (r"\u001b[31m", r"\u001b[0m"),
    (r"\\u001B[31m", r"\\u001B[0m"),
    (r"\x1b[31m", r"\x1b[0m"),
    (r"\033[1;33m", r"\033[0m"),
    (r"\e[31m", r"\e[0m"),
];

#[test]
fn a_secret_goes_however_its_line_is_coloured() {
    let key = "aB3dE5gH7jK9mN1pQ2aB3dE5gH7jK9mN1pQ2";
    // At each `|` a colour, by turns begun and ended.
    for (text, rule) in [
        ("|DB_PASSWORD|=BODY", "password"),
        ("DB_|PASSWORD|=BODY", "password"),
        ("DB_PASSWORD=|BODY|", "password"),
        ("DB_PASSWORD|=|BODY", "password"),
        (".env|:|3|:|DB_|PASSWORD|=BODY", "password"),
        ("{|\"password\"||:| |\"BODY\"|}", "password"),
        ("|\"|password|\"|: |\"|BODY|\"|", "password"),
        ("|password|:| |BODY", "password"),
        ("|+||DB_PASSWORD=BODY|", "password"),
        ("|Authorization|: |Bearer| BODY", "authorization"),
        ("|Authorization: Bearer |BODY|", "authorization"),
        ("curl |-u| me:BODY https://x", "password"),
        ("curl --user |me:||BODY|", "password"),
        ("postgres://app|:|BODY@host/db", "url-password"),
        ("|postgres|://app:BODY|@|host/db", "url-password"),
        ("|ghp_|BODY", "github-token"),
        ("g|hp|_BODY", "github-token"),
        ("token is|ghp_BODY|it", "github-token"),
        ("|AKIA|IOSFODNN7QWERTYU", "aws-access-key"),
        ("was|AKIAIOSFODNN7QWERTYU||AKIAIOSFODNN7QWERTYV|", "aws-access-key"),
    ] {
        for (begin, end) in COLOURS {
            let parts = text.split('|').enumerate().map(|(turn, part)| {
                let colour = if turn == 0 { "" } else { [end, begin][turn % 2] };
                format!("{colour}{}", part.replace("BODY", key))
            });
            let coloured: String = parts.collect();
            let redacted = REDACTOR.redact_text(&coloured).0;
            let seen = redacted.replace(begin, "").replace(end, "");
            assert!(redacted.contains(&format!("[redacted:{rule}]")), "{coloured:?} is {redacted:?}");
            assert!(!seen.contains(&key[18..]) && !seen.contains("IOSFODNN"), "{coloured:?} is {redacted:?}");
            assert_eq!(REDACTOR.redact_text(&redacted).0, redacted, "{coloured:?} a second time");
        }
    }
}

#[test]
fn values_go_however_a_language_or_a_document_writes_them() {
    let mut staying = Vec::new();
    for pattern in [
        // Texts of several lines.
        "password = \"\"\"PW\"\"\"",
        "api_token = '''PWPW'''",
        "API_TOKEN = \"\"\"\n    PWPW\n\"\"\"",
        "{\"code\": \"password = \\\"\\\"\\\"PW\\\"\\\"\\\"\\n\"}",
        "{\"code\": \"password = '''\\n  PW\\n'''\"}",
        // Terraform.
        "variable \"db_password\" {\n  default = \"PW\"\n}",
        "variable \"db_password\" {\n  type        = string\n  description = \"for the database\"\n  sensitive = true\n  default = \"PW\"\n}",
        "variable \\\"db_password\\\" {\\n  type = string\\n  default = \\\"PW\\\"\\n}",
        // HTML and XML.
        "{&quot;password&quot;:&quot;PW&quot;}",
        "data-config=\"{&quot;api_key&quot;: &quot;PWPW&quot;, &quot;x&quot;: 1}\"",
        "password=&quot;PW&quot;",
        "&#34;client_secret&#34;: &#34;PW&#34;",
        "&#39;password&#39; =&gt; 1, &#39;db_password&#39;: &#39;PW&#39;",
        // Objects of their own.
        "{\"client_secret\": {\"value\": \"PW\"}}",
        "{\"db_password\": {\"sensitive\": true, \"type\": \"string\", \"value\": \"PW\"}}",
        "{\"db_password\": {\n    \"sensitive\": true,\n    \"value\": \"PW\"\n  }\n}",
        "{\\\"client_secret\\\": {\\n  \\\"value\\\": \\\"PW\\\"}}",
        "client_secret:\n  value: PW\nother: 1\n",
        "client_secret: { value: 'PW' }",
        // Statements.
        "INSERT INTO users (name, password) VALUES ('bob', 'PW');",
        "insert into users(id, name, password, role) values (1, 'o''neill', 'PW', 'x'), (2, 'ann', 'other-1x', 'y');",
        "INSERT INTO `users` (`name`, `api_token`, `at`) VALUES\n  ('bob', 'PW', NOW()),\n  ('ann', 'Kw72+m3x', NULL);",
        "{\"sql\": \"INSERT INTO users (name, password)\\nVALUES ('bob', 'PW')\"}",
        "INSERT INTO \\\"users\\\" (\\\"name\\\", \\\"password\\\") VALUES (COALESCE(a, 'b'), 'PW');",
        // CSV, by the names of its columns.
        "name,password,email\nbob,PW,bob@example.org\n",
        "id;user;api_token\n1;bob;PW\n2;ann;Kw72+m3x\n",
        "user\tpassword\nbob\tPW\n",
        "\"name\",\"password\"\n\"bob, the\",\"PW\"\n",
        "{\"out\": \"name,password,email\\nbob,PW,bob@example.org\\n\"}",
        "Username,Login Password,URL\nbob,PW,https://example.org\n",
        // Tables.
        "{\"out\": \"| Key | Value |\\n|---|---|\\n| API_TOKEN | PWPW |\\n\"}",
        "{\"out\": \"| user | password |\\n|------|------|\\n| me | PW |\\n\"}",
        "┌──────┬───────────┐\n│ user │ password  │\n├──────┼───────────┤\n│ me   │ PW │\n└──────┴───────────┘\n",
        "+------+-----------+\n| user | password  |\n+------+-----------+\n| me   | PW |\n+------+-----------+\n",
        "NAME   API_TOKEN  AGE\nprod   PW  3d\ndev    Kw72+m3xx  4d\n",
        "| **user** | **password** |\n|:---|:---:|\n| me | PW |\n",
        // Commands.
        "kubectl create secret generic x --from-literal=user=me --from-literal=connection=PW",
        "kubectl create secret generic x \\\n  --from-literal='connection=PW'",
        "kubectl create secret generic x --from-literal=\"dsn=PW\"",
        "[\"--from-literal\", \"dsn=PW\"]",
        // Addresses and headers.
        "https://api.telegram.org/bot123456789:PWPWPWPWPWPW/sendMessage",
        "https://bots.example.org/bot123456789:AAPWPWPWPWPW/getMe",
        "https://me:PWLONG@example.org/a",
        "Cookie: session=PWLONG; theme=dark",
    ] {
        let long = "aB3dE5gH7jK9mN1pQ2".repeat(300);
        let text = pattern
            .replace("PWPWPWPWPWPW", &long[..33])
            .replace("AAPWPWPWPWPW", &format!("AA{}", &long[..33]));
        let text = text.replace("LONG", &long).replace("PW", PASSWORD);
        let secret = if pattern.contains("/bot") { &long[..30] } else { PASSWORD };
        let (redacted, _) = REDACTOR.redact_text(&text);
        if redacted.contains(secret) || redacted.contains(&long[1000..1030]) {
            staying.push(redacted);
        } else {
            assert_eq!(REDACTOR.redact_text(&redacted).0, redacted, "a second time");
        }
    }
    assert!(staying.is_empty(), "{staying:#?}");
}

#[test]
fn what_looks_like_columns_and_objects_without_secrets_stays() {
    let mut changed = Vec::new();
    for same in [
        "password = \"\"\"\n{}\n\"\"\"",
        "variable \"db_password\" {\n  type = string\n  sensitive = true\n}",
        "variable \"db_password\" {\n  default = \"\"\n}",
        "variable \"region\" {\n  default = \"eu-west-1\"\n}",
        "{&quot;token&quot;: &quot;identifier&quot;}",
        "{\"password\": {\"type\": \"string\", \"format\": \"password\"}}",
        "{\"password\": {\"value\": \"\"}}",
        "token: {\n  kind: TokenKind2,\n}",
        "INSERT INTO users (name, password) VALUES (?, ?);",
        "INSERT INTO users (name, password) VALUES ($1, $2), (:name, :password2)",
        "INSERT INTO users (name, password) SELECT name, password FROM old_users2",
        "INSERT INTO users (name, password) VALUES ('bob', '<password>');",
        "call(name, password);\nlog('bob', 'swordfish');",
        "name,password,email\nplease fill in this table2\n",
        "name,kind,password\n",
        "use lexer::{token, kind};\nuse parser2::{a, b};\n",
        "fn f(user, token, x1) {\n  a, b2, c\n}",
        "let (a, token) = x;\nlet (b, other2) = y;\n",
        "    token, kind,\n    lexer2, parser3,\n",
        "NAME   TOKEN  AGE\nprod   none   3d\n",
        "  token   a name\n  kind    of it\n",
        "kubectl create configmap x --from-literal=level=Zx81-q7Fw",
        "kubectl create secret generic x --from-literal=password=$PASSWORD",
        "https://api.telegram.org/bot<token>/sendMessage",
        "https://api.telegram.org/bot${TOKEN}/sendMessage",
        "see https://example.org/bots/123456789:about",
        // Words, names and calls.
        "compass = \"north\"",
        "bypass: \"always-2\"",
        "LOWPASS=filter-x1",
        "events, err := s.QueryUnmatchedFileEvents(projectID, since)",
        "let x = s.queryAllOfTheEventsNow12;\ns.abcdefghijklmnopqrstuvwx",
        "2. Get Token: `GetCloudToken()` (auth.go:582-613)",
        "   - Requires secret: `SLACK_WEBHOOK_URL_CLIENTS`",
        "- Project identified by `project_root_hash` (anonymized) or `git_id` (Git repo ID)",
        "`POSTHOG_API_KEY=test_key goreleaser build --snapshot --clean`",
        "the password: `user_password_field`",
        "SELECT value FROM ItemTable WHERE key='glass.localAgentProjectMembership.v1'",
        "key = \"com.example.SomeSettingsPanel.v2\"",
    ] {
        let (redacted, _) = REDACTOR.redact_text(same);
        if redacted != same {
            changed.push(redacted);
        }
    }
    assert!(changed.is_empty(), "{changed:#?}");
}

#[test]
fn passwords_go_where_less_usual_commands_and_calls_take_them() {
    for pattern in [
        "openssl enc -aes-256-cbc -k PW -in a",
        "ssh-keygen -t ed25519 -N PW -f k",
        "ssh-keygen -N 'PW' -f k",
        "osslsigncode sign -pass PW -in x",
        "jarsigner -storepass x1y2z3 -keypass PW a.jar me",
        "influx -username a -password PW",
        "mysqladmin -u root password PW",
        "nmcli dev wifi connect home password PW",
        "signtool sign /f a.pfx /p PW x.exe",
        "net use \\\\host\\share /user:me PW",
        "lftp -u me,PW ftp.example.org",
        "smbclient //host/share -U me%PW",
        "skopeo copy --src-creds me:PW docker://a docker://b",
        "skopeo inspect --creds=me:PW docker://a",
        "rabbitmqctl add_user me PW",
        "rabbitmqctl change_password me PW",
        "htpasswd -b file me PW",
        "htpasswd -c -b file me PW",
        "htpasswd -nbB me PW",
        "echo PW | passwd --stdin me",
        "sqlplus me/PW@orcl",
        "jdbc:oracle:thin:me/PW@//host:1521/orcl",
        "DSN=me:PW@tcp(host:3306)/db",
        "etcdctl --user root:PW get /",
        "curl --proxy-user me:PW https://a.example",
        "http --auth me:PW a.example",
        "xcrun altool --upload-app -u me -p PW",
        "security unlock-keychain -p PW login.keychain",
        "cqlsh -u me -p PW host",
        "setx API_TOKEN PW",
        "ngrok config add-authtoken 2aBcDeFgHiPW_5aBcDeFgH",
        "requests.get(url, auth=('me', 'PW'))",
        "requests.get(url, auth=(user, \"PW\"))",
        "HTTPBasicAuth('me', 'PW')",
        "new UsernamePasswordCredentials(\"me\", \"PW\")",
        "smtp.login('me@example.org', 'PW')",
        "ConvertTo-SecureString \"PW\" -AsPlainText -Force",
        "SET PASSWORD FOR me = PASSWORD('PW');",
        "    storePassword 'PW'",
        "\tpsk=\"PW\"",
        "bindpw PW",
        "db_pw: PW",
        "OP_SESSION_my=PW",
        "export BW_SESSION=\"PW\"",
        "<key>password</key>\n\t<string>PW</string>",
        "<input type=\"password\" name=\"p\" value=\"PW\">",
        "Authorization=Bearer%20aBcDeFgHPW",
        "User { name: \"me\", password: Some(\"PW\") }",
        "password = Just \"PW\"",
        "DB_PASSWORD ?= PW",
        "DB_PASSWORD?=PW",
        "std::env::set_var(\"DB_PASSWORD\", \"PW\");",
        "System.setProperty(\"db.password\", \"PW\");",
        "{\"apiKey\": {\"S\": \"PWPW\"}}",
        "\"SecretString\": \"PW\"",
    ] {
        goes(&pattern.replace("PW", PASSWORD), PASSWORD);
    }
    for same in [
        "openssl x509 -in cert.pem -noout -k keyfile1",
        "ssh-keygen -t ed25519 -N '' -f key1",
        "htpasswd -c file user1",
        "htpasswd -nb $USER $PASS",
        "passwd --stdin",
        "sqlplus /nolog",
        "jdbc:oracle:thin:@//host:1521/orcl",
        "auth=('user', password)",
        "HTTPBasicAuth(user, password)",
        "smtp.login(user, password)",
        "client.login(\"alice\", \"page-2\")",
        "ConvertTo-SecureString $plain1 -AsPlainText -Force",
        "storePassword System.getenv(\"X\")",
        "keyPassword and storePassword are read from local.properties",
        "psk=\"$PSK\"",
        "setx NODE_ENV production1",
        "<input type=\"password\" placeholder=\"Password\" value=\"\">",
        "<key>password</key><string></string>",
        "mysqladmin -u root password",
        "docker run --user 1000:1000 http",
        "let password = Some(value1);",
        "password: Some(hash(password2))",
        "password: None",
        "matches!(password, Some(\"x\"))",
        "what is the token? it is word2",
        "token ?= process.env.TOKEN2",
        "std::env::set_var(\"RUST_LOG\", \"debug2\");",
        "System.setProperty(\"user.dir\", \"/tmp/x1\");",
        "Authorization=Bearer%20{token}",
        "root:@tcp(127.0.0.1:3306)/db",
        "user:group1@tcp(addr)",
        "new_pw=input()",
        "max_pw: 12",
        "smbclient -U me //host/share1",
        "lftp -u me ftp1.example.org",
        "security find-certificate -p login1.keychain",
        "jarsigner -verify x1.jar",
        "authtoken is missing from the header of each request",
    ] {
        stays(same);
    }
}

#[test]
fn a_code_span_with_a_value_goes() {
    for pattern in [
        "`API_TOKEN=PWPW`",
        "use `password: PW` there",
        "the password: `PW`",
        "Get Token: `aB3dE5gH7jK9mN1pQ2PW`",
    ] {
        goes(&pattern.replace("PW", PASSWORD), PASSWORD);
    }
    goes("DB_COMPASS_PASS=Zx81-q7Fw", PASSWORD);
    goes("userpass: \"Zx81-q7Fw\"", PASSWORD);
    goes("s.aB3dE5gH7jK9mN1pQ2xYzW4v", "aB3dE5gH7jK9mN1pQ2xYzW4v");
}
