use super::*;
use proptest::prelude::*;

/// Assembles a key at run time, so that no scanner takes this file for a leak.
fn key(start: &str, rest: &str) -> String {
    format!("{start}{rest}")
}

#[test]
fn secrets_are_found_and_blanked_out() {
    let letters = "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7d";
    let hexadecimal = "0123456789abcdef0123456789abcdef";
    let jwt = key("eyJ", "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P");
    use SecretKind::*;
    let table: Vec<(SecretKind, String, &str)> = vec![
        (CloudKey, key("AKIA", "IOSFODNN7EXAMPL2"), "use {} for S3"),
        (CloudKey, key("AKIA", "IOSFODNN7EXAMPL2"), "密钥是{}，请保存"),
        (CloudKey, key("LTAI", "5tBcDeFgHiJkLmNoPq12"), "阿里云的{}在这里"),
        (DeveloperToken, key("ghp_", &letters[..36]), "token {}"),
        (DeveloperToken, key("github_pat_", &letters[..30]), "我的令牌{}。"),
        (DeveloperToken, key("glpat-", &letters[..20]), "{}"),
        (ModelKey, key("sk-", &letters[..32]), "OPENAI_API_KEY={}"),
        (ModelKey, key("sk-proj-", letters), "key: {}"),
        (ModelKey, key("sk-", hexadecimal), "「{}」"),
        (ModelKey, key("sk-ant-", "api03-aB3dE5fG7hJ9kL1mN3pQ"), "api_key = \"{}\""),
        (ModelKey, key("hf_", &letters[..34]), "{}"),
        (ChatToken, key("xoxb-", "123456789012-abcdefABCDEF123456"), "slack {}"),
        (ChatToken, key("hooks.slack.com/services/T0A1B2C3D/", "B0A1B2C3D/a1B2c3D4e5F6g7H8i9J0"), "https://{}"),
        (ChatToken, key("123456789:AA", "F1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6q"), "bot {}"),
        (GoogleKey, key("AIza", "SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q"), "maps key {} ok"),
        (ServiceKey, key("sk_live_", &letters[..24]), "{}"),
        (JsonWebToken, jwt.clone(), "cookie {};"),
        (AuthorizationHeader, letters.to_owned(), "Authorization: Bearer {}"),
        (AuthorizationHeader, "dXNlcjpwYXNzd29yZA==".into(), "Authorization: Basic {}"),
        (UrlPassword, "hunter2".into(), "postgres://app:{}@db.internal:5432/x"),
        (UrlPassword, "p-w".into(), "redis://:{}@localhost"),
        (UrlPassword, "s3cr3t".into(), "看看 https://tom:{}@example.com/路径"),
        (Password, "hunter2".into(), "password = {}"),
        (Password, "hunter2".into(), "my password is {}."),
        (Password, "swordfish".into(), "DB_PASSWORD={}"),
        (Password, "correct horse battery".into(), "password = \"{}\""),
        (Password, "letmein".into(), "{\"password\": \"{}\"}"),
        (Password, "123456".into(), "密码：{}"),
        (Password, "8848".into(), "保险箱密码是{}，别忘了"),
        (Password, "abc12345".into(), "WiFi密码是 {}。"),
        (Password, "Abc@2024".into(), "登录口令: {}，谢谢"),
        (Password, "sakura99".into(), "パスワードは{}です"),
        (Password, "P@ssw0rd!".into(), "pwd: {}"),
        (Password, "$ecret9!".into(), "password: {}"),
        (Password, "tr0ub4dor".into(), "mysql --password={} -u root"),
        (Password, "tr0ub4dor".into(), "Server=x;Uid=sa;Pwd={};Timeout=3"),
        (AssignedKey, "a1b2c3d4e5f6".into(), "api_key: {}"),
        (AssignedKey, "a1b2c3d4e5f6".into(), "export MY_SERVICE_TOKEN='{}'"),
        (AssignedKey, key("wJalrXUtnFEMI/K7MDENG/", "bPxRfiCYEXAMPLEKEY"), "AWS_SECRET_ACCESS_KEY={}"),
        (AssignedKey, "a1b2c3d4e5f6".into(), "{\"client_secret\":\"{}\"}"),
        (AssignedKey, "abcd1234efgh".into(), "令牌：{}"),
        (Password, "hunter2".into(), "password: password: {}"),
        (Password, "口令里有中文9".into(), "密码：「{}」"),
    ];
    let mut wrong = Vec::new();
    for (kind, secret, template) in table {
        let text = template.replacen("{}", &secret, 1).replace("{\"{}", "{\"");
        let (redacted, findings) = redact(&text);
        let expected = text.replacen(&secret, &format!("[REDACTED:{}]", kind.as_str()), 1);
        let kinds: Vec<_> = findings.iter().map(|finding| finding.kind).collect();
        // A second pass over the result finds nothing.
        if kinds != [kind] || redacted != expected || redact(&redacted) != (redacted.clone(), Vec::new()) {
            wrong.push(format!("{text}: {kinds:?} {redacted}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_private_key_is_found_whole_and_cut_off() {
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n".repeat(3);
    for name in ["RSA PRIVATE KEY", "PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"] {
        let whole = format!("before\n-----BEGIN {name}-----\n{body}-----END {name}-----\nafter");
        assert_eq!(redact(&whole).0, "before\n[REDACTED:private_key]\nafter");
        let cut = format!("before -----BEGIN {name}-----\n{body}");
        assert_eq!(redact(&cut).0, "before [REDACTED:private_key]");
    }
    let prose = "A file that starts with -----BEGIN PRIVATE KEY----- must never be committed to the repository at all.";
    assert_eq!(scan(prose), []);
}

#[test]
fn plain_text_is_left_alone() {
    let texts = [
        "The password policy asks for 12 characters.",
        "Password: required",
        "password: must be 8 characters or more",
        "The password is case-sensitive.",
        "my password is wrong",
        "the password is 8 characters long",
        "Password reset: click the link",
        "I forgot my password, so I asked Anna.",
        "password = os.environ[\"DB_PASSWORD\"]",
        "password = getpass()",
        "password=${DB_PASSWORD}",
        "password: <your password>",
        "password: ********",
        "password: $PASSWORD",
        "token = tokenizer.next()",
        "token: string",
        "Tokens: 1200 in, 300 out",
        "token_count: 123456789012",
        "The secret: be kind to people",
        "secret ingredient: cinnamon",
        "api_key: YOUR_API_KEY",
        "the bearer of this letter",
        "Bearer token authentication is used",
        "bearer authentication-mechanism-description",
        "commit 3f2a9c1b7d8e4f5a6b7c8d9e0f1a2b3c4d5e6f70",
        "id 123e4567-e89b-12d3-a456-426614174000",
        "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "call +86 138 0013 8000 or 138-0013-8000",
        "sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "sk-learn-something-long-name-here-for-you",
        "scikit sk-model-selection-and-evaluation-2",
        "https://example.com/a:b/c@d",
        "http://localhost:8080/path and mail tom@example.com",
        "git@github.com:owner/repo.git",
        "ratio 3:4@home",
        "密码策略要求至少八位",
        "密码是什么？",
        "密码：忘了",
        "密码：8位以上，包含数字",
        "他的密码是生日，我没记",
        "密码是wifi的名字",
        "令牌环网络",
        "验证码已发送",
        "会议改到2024-05-01 15:30",
        "身份证后四位",
        "I pass: you play",
        "compass: north",
        "",
        "👍 好的",
    ];
    let wrong: Vec<_> = texts.into_iter().filter(|text| !scan(text).is_empty()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn several_secrets_in_one_text_and_text_around_them_stays() {
    let text = format!("用户 password: hunter2，token={} 完 👍", key("ghp_", &"a1".repeat(18)));
    let (redacted, findings) = redact(&text);
    assert_eq!(findings.len(), 2);
    assert_eq!(redacted, "用户 password: [REDACTED:password]，token=[REDACTED:developer_token] 完 👍");
}

#[test]
fn long_text_takes_no_long_time() {
    let text = "a_b_c-password password: the user said key=value https://a:b 密码 ".repeat(20_000);
    assert_eq!(scan(&text), []);
    assert_eq!(scan(&"a-".repeat(200_000)), []);
    assert_eq!(scan(&"-----BEGIN PRIVATE KEY-----".repeat(2_000)), []);
    assert!(scan(&"password:".repeat(20_000)).len() < 1_000);
}

proptest! {
    #[test]
    fn findings_are_ordered_and_redaction_is_complete(text in "(\\PC|password[:=] ?|密码：|sk-|https://a:|@|\"){0,40}") {
        let (redacted, findings) = redact(&text);
        for pair in findings.windows(2) {
            prop_assert!(pair[0].range.end <= pair[1].range.start);
        }
        prop_assert!(findings.iter().all(|finding| text.get(finding.range.clone()).is_some()));
        prop_assert_eq!(redacted.matches("[REDACTED:").count() >= findings.len(), true);
    }
}
