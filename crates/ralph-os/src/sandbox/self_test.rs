//! The test at each start: what the fence forbids is tried inside.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use camino::Utf8Path;

use super::{Fence, Mechanism, Network, Purpose, Sandbox};
use crate::process::Tool;
use ralph_core::record::{Refusal, quoted_for_shell};

/// The word of the command line after which our own program tries to connect to a port. No command for users.
pub const PROBE: &str = "probe-port";

/// What helps where bubblewrap is, and cannot run.
pub(super) const NAMESPACES: &str = "bubblewrap needs user namespaces: sysctl kernel.unprivileged_userns_clone=1 \
     kernel.apparmor_restrict_unprivileged_userns=0, or in a container leave the fence to it";

/// How long the test may take: srt starts a server.
const TIMEOUT: Duration = Duration::from_mins(1);

/// What is in a file that cannot be read inside.
const SECRET: &str = "ralph-hidden";

/// Tries to write outside, to read what is hidden, and to do what must be possible.
const SCRIPT: &str = r#"
(echo x > "$1/written") 2>/dev/null
grep -q ralph-hidden "$2" 2>/dev/null && echo read
test -w /proc/sys/kernel/core_pattern && echo kernel
test -w "$3" || echo unusable
(echo x > "$HOME/.ralph-probe") 2>/dev/null && rm "$HOME/.ralph-probe" || echo unusable
test -z "$5" || "$4" probe-port "$5"
echo tried
"#;

/// Returns true if it can connect to a port of this machine, for [`PROBE`].
pub fn probe(port: &str) -> bool {
    port.parse().is_ok_and(|port: u16| TcpStream::connect(("127.0.0.1", port)).is_ok())
}

/// Tests the fence of agents, and that of other commands where it is another.
pub(super) fn run(sandbox: &Arc<Sandbox>) -> Result<()> {
    let secret = sandbox.private_dir.join("probe/secret");
    fs::write(&secret, SECRET).with_context(|| format!("write {secret}"))?;
    // What commands could not be kept from, they could do to the settings of srt.
    let outside = sandbox.private_dir.clone();
    let is_same = sandbox.rules.network == sandbox.rules.check_network;
    for purpose in [Purpose::Agent, Purpose::Check].into_iter().take(if is_same { 1 } else { 2 }) {
        let fence = Fence { sandbox: Arc::clone(sandbox), purpose, variables: Vec::new() };
        test(&fence, &outside, &secret)?;
    }
    Ok(())
}

fn test(fence: &Fence, outside: &Utf8Path, secret: &Utf8Path) -> Result<()> {
    let Sandbox { mechanism, rules, .. } = &**fence.sandbox();
    let name = mechanism.name();
    let folder = rules.write.first().map_or(outside, |path| path);
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("listen on a port of this machine")?;
    listener.set_nonblocking(true).context("listen without waiting")?;
    let is_closed = *fence.sandbox().network(fence.purpose) != Network::All;
    let port = if is_closed { listener.local_addr()?.port().to_string() } else { String::new() };
    let own = std::env::current_exe().context("find this program")?;
    let words = ["sh", "-c", SCRIPT, "sh", outside.as_str(), secret.as_str(), folder.as_str()];
    let mut command: Vec<String> = words.map(str::to_owned).into();
    command.extend([own.to_string_lossy().into_owned(), port]);
    let tool = Tool::new("sh", folder).args(&command[1..]).inside(fence).limit(TIMEOUT);
    let tried = tool.run().map_err(|error| Refusal::new(format!("{error:#}")).with_hint(mechanism.hint()))?;
    let said = String::from_utf8_lossy(&tried.stdout);
    let said: Vec<&str> = said.lines().collect();
    let written = outside.join("written");
    let problem = if !said.contains(&"tried") {
        let hint = match mechanism {
            Mechanism::Bwrap => NAMESPACES,
            _ => mechanism.hint(),
        };
        let why = format!("sandbox `{name}` cannot run a command: {}", tried.complaint());
        return Err(Refusal::new(why).with_hint(hint).into());
    } else if written.exists() {
        "wrote outside of its folder"
    } else if said.contains(&"kernel") {
        "could change settings of the kernel, as root can there"
    } else if said.contains(&"read") {
        "read a hidden file"
    } else if is_closed && listener.accept().is_ok() {
        "connected though the network is closed"
    } else if said.contains(&"unusable") {
        let shown = quoted_for_shell(folder.as_str());
        return Err(Refusal::new(format!("sandbox `{name}`: a command cannot write in {shown} or its home"))
            .with_hint("let it: a command of yours gets them as {folder} and {home}")
            .into());
    } else {
        return Ok(());
    };
    Err(Refusal::new(format!("sandbox `{name}` does not hold: a test command {problem}"))
        .with_hint("nothing was started; use --sandbox bwrap, or another user than root")
        .into())
}
