//! The file of settings as `init` writes it: keys with their defaults, commented out.

use super::key::{Key, ValueKind};
use super::settings::{KEYS, find};

const HEAD: &str = "\
# Settings of `specify ralph`. What is commented out is the default.
# git config (ralph.maxIterations), the environment (SPECKIT_RALPH_MAX_ITERATIONS) and flags win over this file.
";

/// What people change, in groups.
const USUAL: &[&[&str]] = &[
    &["agent", "model", "permissions"],
    &["validation.command", "timeout"],
    &["max-iterations", "max-cost", "max-duration", "skip-after"],
    &["commit", "notify", "hooks.on-finish"],
];

const ALL: &str = "\n# `specify ralph config --all` lists every setting, `init --all` writes every one.\n";

const TAIL: &str = r#"
# How to run an agent of your own, or what to change of a known one.
# [agents.mine]
# command = ["my-agent", "--model", "{model}"]   # or one line for the shell
# prompt = "stdin"                               # or "file": {prompt_file}; or "arg": {prompt}
# parser = "text"                                # or the agent whose output it prints
# env = { MY_AGENT_QUIET = "1" }
# state = ["~/.mine/settings.json"]              # what it gets copies of in a sandbox
# credentials = ["~/.mine/login.json"]           # the same, and written back if it renews them

# What `--loop docs` would do: any of the settings above, and these.
# [loop.docs]
# template = ".specify/templates/ralph-docs.md"
# artifact = "docs.md"
# until = "validation"
"#;

/// Returns the text of the file, with those keys that people change or with all of them, and with `validation` in force.
pub fn sample(has_all: bool, validation: Option<&str>) -> String {
    let mut text = HEAD.to_owned();
    // As a string of TOML: JSON's are ones too.
    let set = validation.map(|command| format!("validation.command = {}", serde_json::Value::from(command)));
    if !has_all {
        for group in USUAL {
            text.push('\n');
            for key in group.iter().filter_map(|name| find(name)) {
                text.push_str(&format!("{:32}  # {}\n", setting(key, set.as_deref()), key.doc));
            }
        }
        return text + ALL;
    }
    for key in KEYS.iter().filter(|key| key.in_file) {
        text.push_str(&format!("\n# {}\n{}\n", key.doc, setting(key, set.as_deref())));
    }
    text + TAIL
}

fn setting(key: &Key, validation: Option<&str>) -> String {
    match validation {
        Some(validation) if key.name == "validation.command" => validation.to_owned(),
        _ => format!("# {} = {}", key.name.replace("<name>", "name"), literal(key)),
    }
}

/// Returns the default as TOML.
fn literal(key: &Key) -> String {
    match key.kind {
        ValueKind::Patterns => "[]".to_owned(),
        _ if key.default == "none" => format!("\"{}\"", key.unset),
        ValueKind::Names if !key.default.contains(", ") => format!("\"{}\"", key.default),
        ValueKind::Names | ValueKind::Words(_) => format!("[\"{}\"]", key.default.replace(", ", "\", \"")),
        ValueKind::Count { .. } | ValueKind::Ratio | ValueKind::Money | ValueKind::Switch => {
            key.default.to_owned()
        }
        _ => format!("\"{}\"", key.default),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Config, Inputs};
    use super::*;

    fn read(text: &str) -> Config {
        Config::read(&Inputs { file: Some(text.to_owned()), ..Inputs::default() }).unwrap()
    }

    /// Returns the lines that are settings, with nothing before them.
    fn uncommented(text: &str) -> String {
        let is_setting = |line: &&str| {
            line.starts_with('[') || line.split_once(" = ").is_some_and(|(name, _)| !name.contains(' '))
        };
        let bare = text.lines().filter_map(|line| line.strip_prefix("# ")).filter(is_setting);
        bare.fold(String::new(), |all, line| all + line + "\n")
    }

    #[test]
    fn as_it_is_it_changes_nothing_and_with_every_line_in_force_neither() {
        let default = Config::read(&Inputs::default()).unwrap();
        let usual = USUAL.iter().map(|group| group.len()).sum();
        let all = KEYS.iter().filter(|key| key.in_file).count();
        for (has_all, expected) in [(false, usual), (true, all)] {
            let text = sample(has_all, None);
            assert_eq!(read(&text).to_json(), default.to_json());
            let set = uncommented(text.split("\n# How to run").next().unwrap());
            assert_eq!(set.lines().count(), expected, "{set}");
            let without_capture = set.replace("capture.name = \"none\"\n", "");
            assert_eq!(read(&without_capture).to_json(), default.to_json(), "{set}");
        }
    }

    #[test]
    fn twelve_lines_in_groups_are_what_people_change() {
        let text = sample(false, None);
        let groups: Vec<usize> = text.split("\n\n").map(|group| group.lines().count()).collect();
        assert_eq!(groups, [2, 3, 2, 4, 3, 1], "{text}");
    }

    #[test]
    fn a_validation_is_put_in_force_and_nothing_else() {
        for (command, has_all) in [("cargo test", false), ("sh -c \"exit 1\" \\ x", true)] {
            let config = read(&sample(has_all, Some(command)));
            assert_eq!(config.settings.validation_command.as_deref(), Some(command));
            let default = Config::read(&Inputs::default()).unwrap().settings;
            assert_eq!(crate::config::Settings { validation_command: None, ..config.settings }, default);
        }
    }

    #[test]
    fn the_tables_at_its_end_are_ones_that_can_be_used() {
        let config = read(&uncommented(TAIL));
        assert!(config.agents.contains_key("mine") && config.is_set("loop.docs.until"), "{config:?}");
    }
}
