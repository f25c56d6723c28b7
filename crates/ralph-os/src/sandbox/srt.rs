//! The settings of Anthropic's sandbox-runtime.

use serde_json::json;

use super::Network;
use super::places::{Access, Places};

/// Returns the file of settings. Everything can be read but what is denied, and nothing be written but what is allowed.
pub(super) fn settings(places: &Places, network: &Network) -> String {
    let of = |wanted: &[Access]| -> Vec<&str> {
        let found = places.iter().filter(|(_, access)| wanted.contains(access));
        found.map(|(path, _)| path.as_str()).collect()
    };
    let hosts = match network {
        Network::Hosts(hosts) => hosts.as_slice(),
        Network::All | Network::None => &[],
    };
    let settings = json!({
        "network": {"allowedDomains": hosts, "deniedDomains": [], "strictAllowlist": true},
        "filesystem": {
            "denyRead": of(&[Access::HiddenDir, Access::HiddenFile]),
            "allowRead": of(&[Access::Shown]),
            "allowWrite": of(&[Access::Write]),
            "denyWrite": of(&[Access::ReadOnly]),
        },
    });
    format!("{settings:#}\n")
}
