//! The rules of a makefile or justfile: what a target runs, as far as is needed to see which scripts.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::paths::pattern;

/// How often variables within variables are replaced.
const MAX_NESTING: usize = 4;

#[derive(Debug, Default)]
struct Rule {
    targets: Vec<String>,
    needs: Vec<String>,
    lines: Vec<String>,
}

/// The rules of a file and of those that it includes.
#[derive(Debug)]
pub(super) struct Recipes {
    is_just: bool,
    rules: Vec<Rule>,
    variables: BTreeMap<String, String>,
    phony: Vec<String>,
}

impl Recipes {
    pub fn new(is_just: bool) -> Self {
        let variables = BTreeMap::from([("MAKE".to_owned(), "make".to_owned())]);
        Self { is_just, rules: Vec::new(), variables, phony: Vec::new() }
    }

    /// Reads a file. Returns what it includes.
    pub fn read(&mut self, text: &str) -> Vec<String> {
        static ASSIGNMENT: LazyLock<Regex> =
            LazyLock::new(|| pattern(r"^(?:export\s+|override\s+)*([\w.-]+)\s*(?::{0,3}|\?|\+)=\s*(.*)$"));
        let mut included = Vec::new();
        for line in text.replace("\\\n", " ").lines() {
            if line.starts_with('\t') || self.is_just && line.starts_with(' ') {
                if let Some(rule) = self.rules.last_mut() {
                    rule.lines.push(line.trim().trim_start_matches(['@', '-', '+']).to_owned());
                }
                continue;
            }
            let line = line.trim();
            let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            if line.is_empty() || line.starts_with('#') {
            } else if matches!(word, "include" | "-include" | "sinclude" | "import" | "import?") {
                let paths = rest.split_whitespace().map(|path| path.trim_matches(['\'', '"']));
                included.extend(paths.map(|path| self.expanded(path)));
            } else if let Some(found) = ASSIGNMENT.captures(line) {
                self.variables.insert(found[1].to_owned(), found[2].trim_matches(['\'', '"']).to_owned());
            } else if let Some((targets, behind)) = line.split_once(':') {
                self.rule(targets, behind);
            }
        }
        included
    }

    fn rule(&mut self, targets: &str, behind: &str) {
        let (needs, line) = behind.split_once(';').unwrap_or((behind, ""));
        let needs =
            needs.split_whitespace().map(|need| need.trim_matches([':', '|', '&', '(', ')']).to_owned());
        let needs: Vec<String> = needs.filter(|need| !need.is_empty()).collect();
        if targets.trim() == ".PHONY" {
            return self.phony.extend(needs);
        }
        // A recipe of just has parameters behind its name.
        let most = if self.is_just { 1 } else { usize::MAX };
        let names = targets.split_whitespace().take(most);
        let targets = names.map(|name| name.trim_start_matches('@').to_owned()).collect();
        let lines = Some(line.trim().to_owned()).filter(|line| !line.is_empty());
        self.rules.push(Rule { targets, needs, lines: lines.into_iter().collect() });
    }

    /// Returns the lines that run for these targets, and the targets that a file of the same name would shadow. Without
    /// targets for the first one.
    pub fn runs(&self, goals: &[&str]) -> (Vec<String>, Vec<String>) {
        let first = self.rules.iter().flat_map(|rule| &rule.targets).find(|target| !target.starts_with('.'));
        let mut asked: Vec<String> = goals.iter().map(|goal| (*goal).to_owned()).collect();
        if goals.is_empty() {
            asked.extend(first.cloned());
        }
        let (mut lines, mut shadowed, mut at) = (Vec::new(), Vec::new(), 0);
        while let Some(target) = asked.get(at).cloned() {
            at += 1;
            let rules = self.rules.iter().filter(|rule| rule.targets.contains(&target));
            for rule in rules {
                let mut next: Vec<String> = rule.needs.clone();
                for line in rule.lines.iter().map(|line| self.expanded(line)) {
                    if let Some(words) = line.strip_prefix("make ").filter(|words| !words.contains("-C")) {
                        next.extend(words.split_whitespace().map(str::to_owned));
                    }
                    lines.push(line);
                }
                next.retain(|need| !asked.contains(need));
                asked.extend(next);
                let is_name = target.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
                if is_name && !self.is_just && !self.phony.contains(&target) && !shadowed.contains(&target) {
                    shadowed.push(target.clone());
                }
            }
        }
        (lines, shadowed)
    }

    fn expanded(&self, text: &str) -> String {
        static VARIABLE: LazyLock<Regex> =
            LazyLock::new(|| pattern(r"\$[({]([\w.-]+)[)}]|\{\{\s*([\w-]+)\s*\}\}"));
        let mut text = text.to_owned();
        for _ in 0..MAX_NESTING {
            let next = VARIABLE.replace_all(&text, |found: &Captures<'_>| {
                let name = found.get(1).or_else(|| found.get(2)).map_or("", |name| name.as_str());
                self.variables.get(name).cloned().unwrap_or_else(|| found[0].to_owned())
            });
            if next == text {
                break;
            }
            text = next.into_owned();
        }
        text.replace("$$", "$")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_a_target_are_those_of_what_it_needs_too() {
        let makefile = ".PHONY: all lint\nSH ?= sh\nUNIT = $(SH) unit.sh\n\nall: test lint # all\n\nlint: ; sh lint.sh\n\
                        test: build\n\t@$(UNIT) \\\n\t  --all\n\t-$(MAKE) more\nmore:\n\tsh more.sh\nbuild:\n\
                        deploy:\n\tsh deploy.sh\n";
        let mut recipes = Recipes::new(false);
        assert_eq!(recipes.read(makefile), Vec::<String>::new());
        let (lines, shadowed) = recipes.runs(&["test"]);
        assert_eq!(lines, ["sh unit.sh  \t  --all", "make more", "sh more.sh"]);
        assert_eq!(shadowed, ["test", "build", "more"]);
        assert!(recipes.runs(&[]).0.contains(&"sh lint.sh".to_owned()));
        assert_eq!(recipes.runs(&["none"]), (Vec::new(), Vec::new()));
    }

    #[test]
    fn a_justfile_has_parameters_and_imports() {
        let mut recipes = Recipes::new(true);
        let justfile = "import 'ci.just'\nsh := 'bash'\n\n[private]\ntest name=\"x\": build && lint\n    {{sh}} unit.sh {{ name }}\n\
                        build:\n  @./build.sh\nlint:\n    ./lint.sh\n";
        assert_eq!(recipes.read(justfile), ["ci.just"]);
        let expected = ["bash unit.sh {{ name }}", "./build.sh", "./lint.sh"];
        assert_eq!(recipes.runs(&["test"]), (expected.map(str::to_owned).to_vec(), Vec::new()));
    }

    #[test]
    fn what_is_included_is_named() {
        let mut recipes = Recipes::new(false);
        let included = recipes.read("DIR = mk\ninclude $(DIR)/a.mk b.mk\n-include local.mk\n");
        assert_eq!(included, ["mk/a.mk", "b.mk", "local.mk"]);
    }
}
