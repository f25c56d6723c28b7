//! The file of settings as `init` writes it: every key with its default, commented out.

use super::key::{Key, ValueKind};
use super::settings::KEYS;

const HEAD: &str = "\
# Settings of `specify ralph`. What is commented out is the default.
# git config (ralph.maxIterations), the environment (SPECKIT_RALPH_MAX_ITERATIONS) and flags win over this file;
# `specify ralph config` shows every setting and where it comes from.
";

const TAIL: &str = r#"
# How to run an agent of your own, or what to change of a known one.
# [agents.mine]
# command = ["my-agent", "--model", "{model}"]   # or one line for the shell
# prompt = "stdin"                               # or "file": {prompt_file}; or "arg": {prompt}
# parser = "text"                                # or the agent whose output it prints
# env = { MY_AGENT_QUIET = "1" }

# What `--loop docs` would do: any of the settings above, and these.
# [loop.docs]
# template = ".specify/templates/ralph-docs.md"
# artifact = "docs.md"
# until = "validation"
"#;

/// Returns the text of the file.
pub fn sample() -> String {
    let mut text = HEAD.to_owned();
    let mut section = "";
    // Settings without a section must be before all sections.
    let mut keys: Vec<&Key> = KEYS.iter().filter(|key| key.in_file).collect();
    keys.sort_by_key(|key| key.name.contains('.'));
    for key in keys {
        let (own, name) = key.name.rsplit_once('.').unwrap_or(("", key.name));
        if own != section {
            section = own;
            text.push_str(&format!("\n# [{section}]\n"));
        }
        let unset = if key.default == "none" { format!(" [default: {}]", key.unset) } else { String::new() };
        text.push_str(&format!(
            "# {}{unset}\n# {} = {}\n",
            key.doc,
            name.replace("<name>", "name"),
            literal(key)
        ));
    }
    text.push_str(TAIL);
    text
}

/// Returns the same text with this command as the validation.
pub fn sample_with_validation(command: &str) -> String {
    let text = sample();
    let head = "\n# [validation]\n";
    let Some((before, section)) = text.split_once(head) else { return text };
    let line = "# command = \"none\"\n";
    // As a string of TOML: JSON's are ones too.
    let set = format!("command = {}\n", serde_json::Value::from(command));
    format!("{before}\n[validation]\n{}", section.replacen(line, &set, 1))
}

/// Returns the default as TOML.
fn literal(key: &Key) -> String {
    match key.kind {
        ValueKind::Patterns => "[]".to_owned(),
        ValueKind::Words(_) => format!("[\"{}\"]", key.default.replace(", ", "\", \"")),
        ValueKind::Count { .. } | ValueKind::Ratio | ValueKind::Money | ValueKind::Switch
            if key.default != "none" =>
        {
            key.default.to_owned()
        }
        _ => format!("\"{}\"", key.default),
    }
}

#[cfg(test)]
mod tests {
    use camino::Utf8Path;

    use super::super::{Config, FileInput, Inputs};
    use super::*;

    fn read(text: &str) -> Config {
        let file = FileInput { path: Utf8Path::new("ralph.toml"), bytes: text.as_bytes() };
        Config::read(&Inputs { file: Some(file), ..Inputs::default() }).unwrap()
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
        let text = sample();
        assert_eq!(read(&text).to_json(), default.to_json());
        let all = uncommented(text.split("\n# How to run").next().unwrap());
        assert_eq!(
            all.lines().filter(|line| line.contains(" = ")).count(),
            KEYS.iter().filter(|key| key.in_file).count(),
            "{all}"
        );
        let without_capture = all.replace("name = \"none\"\n", "");
        assert_eq!(read(&without_capture).to_json(), default.to_json(), "{all}");
    }

    #[test]
    fn a_validation_is_put_in_force_and_nothing_else() {
        for command in ["cargo test", "sh -c \"exit 1\" \\ x"] {
            let config = read(&sample_with_validation(command));
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
