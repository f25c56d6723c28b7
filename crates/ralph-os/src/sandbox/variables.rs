//! Which variables do not reach commands inside, by their names.

/// Parts of names that promise a secret.
const CREDENTIALS: &[&str] = &[
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "APIKEY",
    "API_KEY",
    "ACCESS_KEY",
    "PRIVATE_KEY",
    "AUTH_KEY",
];

/// What leads to a program or a screen that acts for the user, and where settings are but in the private home.
const LEADING_OUT: &[&str] = &[
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "DOCKER_HOST",
    "CONTAINER_HOST",
    "KUBECONFIG",
    "XAUTHORITY",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
    "TMPDIR",
];

/// Returns true if a variable has the name of a credential, or leads out.
pub(super) fn is_dropped(name: &str, value: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    // A limit, as `CLAUDE_CODE_MAX_OUTPUT_TOKENS`.
    if upper.ends_with("_TOKENS") && value.parse::<u64>().is_ok() {
        return false;
    }
    CREDENTIALS.iter().any(|part| upper.contains(part) && !upper.starts_with("RALPH_"))
        || ["_KEY", "_PAT"].iter().any(|end| upper.ends_with(end))
        || LEADING_OUT.contains(&name)
        || name.starts_with("DBUS_")
}
