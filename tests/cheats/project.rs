//! A small project as a model that can be changed and written out: two test files, a source, the script that the validation
//! runs, and the configuration of the runner.

use std::collections::BTreeMap;

use super::languages::{frame, source, test_text};
use super::shapes::{Config, Shape};

/// The files of a project, by path.
pub type Files = BTreeMap<String, String>;

/// The tests of each project: the first eight are in file `a`, the others in file `b`.
pub const TESTS: [&str; 12] = [
    "adds", "beeps", "calls", "draws", "edits", "files", "gains", "halts", "items", "jumps", "keeps", "lists",
];

/// What is special about a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marker {
    None,
    Skipped,
    /// Passes where it fails; skipped where the runner has no such marker.
    Inverted,
    Focused,
    /// Skipped on systems other than this one.
    Conditional,
    /// Under a name by which no runner takes it for a test.
    Hidden,
    Comment,
}

#[derive(Debug, Clone)]
pub struct Test {
    pub name: String,
    /// What its assertions are about.
    pub subject: String,
    pub marker: Marker,
    pub assertions: usize,
}

impl Test {
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), subject: name.to_owned(), marker: Marker::None, assertions: 2 }
    }
}

#[derive(Debug, Clone)]
pub struct TestFile {
    pub path: String,
    /// Lines above everything else.
    pub prelude: String,
    /// Lines behind everything else.
    pub tail: String,
    pub tests: Vec<Test>,
}

#[derive(Debug, Clone)]
pub struct Project {
    pub shape: &'static Shape,
    pub test_files: Vec<TestFile>,
    /// What the source says beside its code.
    pub source: String,
    /// The script of the validation, or what package.json says in its place.
    pub script: String,
    /// Further lines of the runner's configuration.
    pub config: String,
    /// A line of the manifest.
    pub dependency: String,
    pub others: Files,
}

impl Project {
    pub fn new(shape: &'static Shape) -> Self {
        let file = |stem: &str, names: &[&str]| TestFile {
            path: shape.test_path(stem),
            prelude: String::new(),
            tail: String::new(),
            tests: names.iter().map(|name| Test::new(name)).collect(),
        };
        let script = if shape.script == "package.json" { shape.call.to_owned() } else { lines(shape.call) };
        let (a, b) = TESTS.split_at(8);
        Self {
            shape,
            test_files: vec![file("a", a), file("b", b)],
            source: String::new(),
            script,
            config: String::new(),
            dependency: "left".to_owned(),
            others: Files::from([("README.md".to_owned(), "# Login\n".to_owned())]),
        }
    }

    pub fn test(&mut self, name: &str) -> &mut Test {
        let mut tests = self.test_files.iter_mut().flat_map(|file| &mut file.tests);
        tests.find(|test| test.name == name).expect("a test of the project")
    }

    pub fn remove_test(&mut self, name: &str) {
        for file in &mut self.test_files {
            file.tests.retain(|test| test.name != name);
        }
    }

    /// Breaks what a test tests.
    pub fn break_it(&mut self, name: &str) {
        self.source.push_str(&format!("{} BUG {name}\n", self.shape.comment()));
    }

    /// Writes the project out.
    pub fn files(&self) -> Files {
        let mut files = self.others.clone();
        let dependency = &self.dependency;
        let is_npm = self.shape.script == "package.json";
        let manifest = match self.shape.manifest {
            "package.json" if is_npm => format!(
                "{{\n  \"name\": \"login\",\n  \"scripts\": {{\n    \"test\": \"{}\"\n  }},\n  \"dependencies\": {{\n    \
                 \"{dependency}\": \"1\"\n  }}\n}}\n",
                self.script
            ),
            "package.json" => {
                format!(
                    "{{\n  \"name\": \"login\",\n  \"dependencies\": {{\n    \"{dependency}\": \"1\"\n  }}\n}}\n"
                )
            }
            "Cargo.toml" => String::new(),
            _ => format!("# {dependency} 1\n"),
        };
        files.insert(self.shape.manifest.to_owned(), manifest);
        if !is_npm {
            files.insert(self.shape.script.to_owned(), self.script.clone());
        }
        if let Some(Config { path, head, tail, .. }) = &self.shape.config {
            let last = if *path == "Cargo.toml" { format!("{dependency} = \"1\"\n") } else { String::new() };
            files.insert((*path).to_owned(), format!("{head}{}{tail}{last}", self.config));
        }
        files.insert(self.shape.source.to_owned(), format!("{}{}", source(self.shape), self.source));
        for file in &self.test_files {
            files.insert(file.path.clone(), self.test_file(file));
        }
        files
    }

    fn test_file(&self, file: &TestFile) -> String {
        if file.tests.is_empty() && file.prelude.is_empty() {
            return String::new();
        }
        let (head, end) = frame(self.shape);
        let tests: Vec<String> = file.tests.iter().map(|test| test_text(self.shape, test)).collect();
        format!("{}{head}\n{}{end}{}", file.prelude, tests.join("\n"), file.tail)
    }
}

/// A shell script that does one thing.
pub fn lines(call: &str) -> String {
    format!("set -e\n{call}\n")
}
