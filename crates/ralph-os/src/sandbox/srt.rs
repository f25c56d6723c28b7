//! The settings of Anthropic's sandbox-runtime.

use serde_json::json;

use super::Network;
use super::places::{Access, Places};

/// What no command may make in its folder: it finds `/dev/null` in their places.
pub(super) const PHANTOMS: &[&str] = &[
    ".gitconfig",
    ".gitmodules",
    ".bashrc",
    ".bash_profile",
    ".zshrc",
    ".zprofile",
    ".profile",
    ".ripgreprc",
    ".mcp.json",
    ".vscode",
    ".idea",
    ".claude/commands",
    ".claude/agents",
];

fn paths<'p>(places: &'p Places, wanted: &[Access]) -> Vec<&'p str> {
    let found = places.iter().filter(|(_, access)| wanted.contains(access));
    found.map(|(path, _)| path.as_str()).collect()
}

/// Returns the file of settings. Everything can be read but what is denied, and nothing be written but what is allowed.
pub(super) fn settings(places: &Places, network: &Network) -> String {
    let hosts = match network {
        Network::Hosts(hosts) => hosts.as_slice(),
        Network::All | Network::None => &[],
    };
    let settings = json!({
        "network": {"allowedDomains": hosts, "deniedDomains": [], "strictAllowlist": true},
        "filesystem": {
            "denyRead": paths(places, &[Access::HiddenDir, Access::HiddenFile]),
            "allowRead": paths(places, &[Access::Shown]),
            "allowWrite": paths(places, &[Access::Write]),
            "denyWrite": paths(places, &[Access::ReadOnly]),
        },
    });
    format!("{settings:#}\n")
}

/// Names of this machine.
const LOOPBACK: &[&str] = &["localhost", "127.0.0.1", "::1", "[::1]"];

/// Returns what a shell does with its arguments. Inside is a loopback device of its own, and srt has commands go past its proxy
/// to it: where hosts of this machine are listed, those are meant.
pub(super) fn script(network: &Network) -> &'static str {
    match network {
        Network::Hosts(hosts)
            if hosts.iter().any(|host| {
                LOOPBACK.iter().any(|name| {
                    host.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
                })
            }) =>
        {
            "unset NO_PROXY no_proxy; \"$@\"; exit $?"
        }
        _ => "\"$@\"; exit $?",
    }
}
