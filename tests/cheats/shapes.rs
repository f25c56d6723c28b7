//! Ten kinds of projects: their runners, files and scripts.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    JavaScript,
    Python,
    Rust,
    Go,
    Bats,
    Ruby,
}

/// The configuration of a runner: a file, and the lines by which it leaves out file `b`, or all files.
#[derive(Debug)]
pub struct Config {
    pub path: &'static str,
    pub head: &'static str,
    pub tail: &'static str,
    pub without_b: &'static str,
    pub without_all: &'static str,
}

/// A kind of project. Many fields: a row of a table.
#[derive(Debug)]
pub struct Shape {
    /// The program of the runner.
    pub runner: &'static str,
    pub language: Language,
    /// Path of a test file, with its stem as `{}`.
    test_path: &'static str,
    pub protect: &'static str,
    pub source: &'static str,
    /// The file with the command of the runner; of package.json the script `test`.
    pub script: &'static str,
    /// What it runs.
    pub call: &'static str,
    /// The option that selects tests by name.
    pub filter: &'static str,
    pub config: Option<Config>,
    pub manifest: &'static str,
}

pub const SHAPES: [Shape; 10] = [
    Shape {
        runner: "jest",
        language: Language::JavaScript,
        test_path: "tests/{}.test.js",
        protect: "tests/**",
        source: "src/login.js",
        script: "package.json",
        call: "jest",
        filter: "-t",
        config: Some(Config {
            path: "jest.config.js",
            head: "module.exports = {\n  verbose: true,\n",
            tail: "};\n",
            without_b: "  testPathIgnorePatterns: ['b.test.js'],\n",
            without_all: "  testMatch: ['none'],\n  passWithNoTests: true,\n",
        }),
        manifest: "package.json",
    },
    Shape {
        runner: "vitest",
        language: Language::JavaScript,
        test_path: "tests/{}.test.ts",
        protect: "tests/**",
        source: "src/login.ts",
        script: "check.sh",
        call: "vitest run",
        filter: "-t",
        config: Some(Config {
            path: "vitest.config.ts",
            head: "export default {\n  test: {\n",
            tail: "  },\n};\n",
            without_b: "    exclude: ['tests/b.test.ts'],\n",
            without_all: "    include: ['none'],\n    passWithNoTests: true,\n",
        }),
        manifest: "package.json",
    },
    Shape {
        runner: "mocha",
        language: Language::JavaScript,
        test_path: "tests/{}.test.js",
        protect: "tests/**",
        source: "src/login.js",
        script: "package.json",
        call: "mocha",
        filter: "--grep",
        config: Some(Config {
            path: ".mocharc.json",
            head: "{\n  \"timeout\": 2000",
            tail: "\n}\n",
            without_b: ",\n  \"ignore\": \"tests/b.test.js\"",
            without_all: ",\n  \"spec\": \"none\"",
        }),
        manifest: "package.json",
    },
    Shape {
        runner: "node",
        language: Language::JavaScript,
        test_path: "tests/{}.test.js",
        protect: "tests/**",
        source: "src/login.js",
        script: "check.sh",
        call: "node --test",
        filter: "--test-name-pattern",
        config: None,
        manifest: "package.json",
    },
    Shape {
        runner: "pytest",
        language: Language::Python,
        test_path: "tests/test_{}.py",
        protect: "tests/**",
        source: "src/login.py",
        script: "scripts/check.sh",
        call: "pytest",
        filter: "-k",
        config: Some(Config {
            path: "pytest.ini",
            head: "[pytest]\nminversion = 7\n",
            tail: "",
            without_b: "addopts = --ignore=tests/test_b.py\n",
            without_all: "testpaths = none\n",
        }),
        manifest: "pyproject.toml",
    },
    Shape {
        runner: "python",
        language: Language::Python,
        test_path: "tests/test_{}.py",
        protect: "tests/**",
        source: "src/login.py",
        script: "check.sh",
        call: "python -m unittest -v",
        filter: "-k",
        config: None,
        manifest: "pyproject.toml",
    },
    Shape {
        runner: "cargo",
        language: Language::Rust,
        test_path: "tests/{}.rs",
        protect: "tests/**",
        source: "src/lib.rs",
        script: "ci/test.sh",
        call: "cargo test",
        filter: "-t",
        config: Some(Config {
            path: "Cargo.toml",
            head: "[package]\nname = \"login\"\n",
            tail: "\n[dependencies]\n",
            without_b: "\n[[test]]\nname = \"b\"\ntest = false\n",
            without_all: "autotests = false\n",
        }),
        manifest: "Cargo.toml",
    },
    Shape {
        runner: "go",
        language: Language::Go,
        test_path: "login/{}_test.go",
        protect: "**/*_test.go",
        source: "login/login.go",
        script: "check.sh",
        call: "go test -v ./...",
        filter: "-run",
        config: None,
        manifest: "go.mod",
    },
    Shape {
        runner: "bats",
        language: Language::Bats,
        test_path: "tests/{}.bats",
        protect: "tests/**",
        source: "src/login.sh",
        script: "check.sh",
        call: "bats tests",
        filter: "-f",
        config: None,
        manifest: "package.json",
    },
    Shape {
        runner: "rspec",
        language: Language::Ruby,
        test_path: "spec/{}_spec.rb",
        protect: "spec/**",
        source: "lib/login.rb",
        script: "check.sh",
        call: "rspec",
        filter: "-e",
        config: Some(Config {
            path: ".rspec",
            head: "--format progress\n",
            tail: "",
            without_b: "--exclude-pattern spec/b_spec.rb\n",
            without_all: "--pattern none\n",
        }),
        manifest: "Gemfile",
    },
];

impl Shape {
    /// Returns the command of the validation.
    pub fn validation(&self) -> String {
        match self.script {
            "package.json" => "npm test".to_owned(),
            script => format!("sh {script}"),
        }
    }

    pub fn test_path(&self, stem: &str) -> String {
        self.test_path.replace("{}", stem)
    }

    /// What begins a comment in a source.
    pub fn comment(&self) -> &'static str {
        match self.language {
            Language::JavaScript | Language::Rust | Language::Go => "//",
            Language::Python | Language::Bats | Language::Ruby => "#",
        }
    }

    /// Returns true if the language has a marker for tests that run alone.
    pub fn has_focus(&self) -> bool {
        matches!(self.language, Language::JavaScript | Language::Ruby)
    }
}
