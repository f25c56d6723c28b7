//! Untracked files that hold secrets by the look of their names.

use camino::Utf8Path;

/// Returns true if an untracked file looks like one that holds credentials, by its name.
pub(super) fn is_credentials(path: &[u8]) -> bool {
    let path = String::from_utf8_lossy(path).to_lowercase();
    let name = path.rsplit('/').next().unwrap_or(&path);
    let is_example =
        [".example", ".sample", ".template", ".dist", ".pub"].iter().any(|end| name.ends_with(end));
    if is_example {
        return false;
    }
    let names = [
        ".env",
        ".envrc",
        ".netrc",
        "_netrc",
        ".npmrc",
        ".pypirc",
        ".pgpass",
        ".htpasswd",
        ".git-credentials",
        "credentials",
        "credentials.json",
        "secrets.yml",
        "secrets.yaml",
        "secrets.json",
        "secrets.toml",
        "id_rsa",
        "id_dsa",
        "id_ecdsa",
        "id_ed25519",
    ];
    let ends = [".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk"];
    let folders = [".aws/credentials", ".docker/config.json", ".kube/config"];
    names.contains(&name)
        || name.starts_with(".env.")
        || (name.starts_with("service-account") && Utf8Path::new(name).extension() == Some("json"))
        || ends.iter().any(|end| name.ends_with(end))
        || folders.iter().any(|end| path.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::is_credentials;

    #[test]
    fn files_that_look_like_credentials_are_known_by_name() {
        for path in
            [".env", "api/.env.production", "keys/server.pem", "id_rsa", "home/.aws/credentials", "X.KEY"]
        {
            assert!(is_credentials(path.as_bytes()), "{path}");
        }
        for path in [".env.example", "id_rsa.pub", "src/environment.rs", "docs/keys.md", "monkey"] {
            assert!(!is_credentials(path.as_bytes()), "{path}");
        }
    }
}
