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

/// Returns the names of the variables that children inherit, without those of credentials and of what leads out.
pub fn variable_names() -> Vec<String> {
    let set = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    let mut names: Vec<String> = set
        .filter(|(name, value)| !is_dropped(name, &value.to_string_lossy()))
        .map(|(name, _)| name)
        .collect();
    names.sort();
    names
}

/// Returns the locale of programs for texts; `None` if none is set.
pub fn locale() -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "programs of the user's go by it")]
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set)
}

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
