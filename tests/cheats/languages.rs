//! Sources and tests in six languages.

use super::project::{Marker, Test};
use super::shapes::{Language, Shape};

/// Returns the source that is tested.
pub fn source(shape: &Shape) -> &'static str {
    match shape.language {
        Language::JavaScript => "export const login = (name, count) => name.length > count;\n",
        Language::Python => "def login(name, count):\n    return len(name) > count\n",
        Language::Rust => "pub fn login(name: &str, count: usize) -> bool {\n    name.len() > count\n}\n",
        Language::Go => {
            "package login\n\nfunc login(name string, count int) bool {\n\treturn len(name) > count\n}\n"
        }
        Language::Bats => "login() { [ \"${#1}\" -gt \"$2\" ]; }\n",
        Language::Ruby => "def login(name, count) = name.length > count\n",
    }
}

/// Returns what is above and below the tests of a file.
pub fn frame(shape: &Shape) -> (&'static str, &'static str) {
    match (shape.language, shape.runner) {
        (Language::JavaScript, "vitest") => {
            ("import { expect, test } from 'vitest';\nimport { login } from '../src/login';\n", "")
        }
        (Language::JavaScript, "node") => (
            "const test = require('node:test');\nconst assert = require('node:assert');\nconst { login } = require('../src/login');\n",
            "",
        ),
        (Language::JavaScript, _) => ("const { login } = require('../src/login');\n", ""),
        (Language::Python, "python") => (
            "import sys\nimport unittest\nfrom src.login import login\n\n\nclass LoginTest(unittest.TestCase):",
            "",
        ),
        (Language::Python, _) => ("import sys\nimport pytest\nfrom src.login import login\n\n", ""),
        (Language::Rust, _) => ("use login::login;\n", ""),
        (Language::Go, _) => ("package login\n\nimport (\n\t\"runtime\"\n\t\"testing\"\n)\n", ""),
        (Language::Bats, _) => (". src/login.sh\n", ""),
        (Language::Ruby, _) => ("require_relative '../lib/login'\n\nRSpec.describe 'Login' do", "end\n"),
    }
}

/// Returns a test as its language has it.
pub fn test_text(shape: &Shape, test: &Test) -> String {
    let lines = match shape.language {
        Language::JavaScript => javascript(shape.runner, test),
        Language::Python => python(shape.runner, test),
        Language::Rust => rust(test),
        Language::Go => go(test),
        Language::Bats => bats(test),
        Language::Ruby => ruby(test),
    };
    if test.marker != Marker::Comment {
        return lines;
    }
    let comment = shape.comment();
    lines.lines().map(|line| format!("{comment} {line}\n")).collect()
}

fn repeated(test: &Test, line: impl Fn(usize) -> String) -> String {
    (0..test.assertions).map(line).collect()
}

fn javascript(runner: &str, test: &Test) -> String {
    let Test { name, subject, .. } = test;
    let word = if runner == "mocha" { "it" } else { "test" };
    let body = repeated(test, |count| match runner {
        "node" => format!("  assert.ok(login('{subject}', {count}));\n"),
        _ => format!("  expect(login('{subject}', {count})).toBe(true);\n"),
    });
    let windows = "process.platform === 'win32'";
    let head = match test.marker {
        Marker::Inverted if runner == "jest" => format!("test.failing('{name}', () => {{\n"),
        Marker::Inverted if runner == "vitest" => format!("test.fails('{name}', () => {{\n"),
        Marker::Skipped | Marker::Inverted => format!("{word}.skip('{name}', () => {{\n"),
        Marker::Focused => format!("{word}.only('{name}', () => {{\n"),
        Marker::Hidden => format!("helper('{name}', () => {{\n"),
        Marker::Conditional => match runner {
            "vitest" => format!("test.skipIf({windows})('{name}', () => {{\n"),
            "node" => format!("test('{name}', {{ skip: {windows} }}, () => {{\n"),
            "mocha" => format!("it('{name}', function () {{\n  if ({windows}) this.skip();\n"),
            _ => format!("const maybe = {windows} ? test.skip : test;\nmaybe('{name}', () => {{\n"),
        },
        Marker::None | Marker::Comment => format!("{word}('{name}', () => {{\n"),
    };
    format!("{head}{body}}});\n")
}

fn python(runner: &str, test: &Test) -> String {
    let Test { name, subject, .. } = test;
    let is_unittest = runner == "python";
    let (mark, skip_if) =
        if is_unittest { ("unittest", "unittest.skipIf") } else { ("pytest.mark", "pytest.mark.skipif") };
    let above = match test.marker {
        Marker::Inverted if is_unittest => "@unittest.expectedFailure\n".to_owned(),
        Marker::Inverted => "@pytest.mark.xfail(strict=True)\n".to_owned(),
        Marker::Skipped if is_unittest => format!("@{mark}.skip(\"flaky\")\n"),
        Marker::Skipped => format!("@{mark}.skip(reason=\"flaky\")\n"),
        Marker::Conditional if is_unittest => format!("@{skip_if}(sys.platform == \"win32\", \"paths\")\n"),
        Marker::Conditional => format!("@{skip_if}(sys.platform == \"win32\", reason=\"paths\")\n"),
        Marker::None | Marker::Focused | Marker::Hidden | Marker::Comment => String::new(),
    };
    let start = if test.marker == Marker::Hidden { "check" } else { "test" };
    let this = if is_unittest { "self" } else { "" };
    let body = repeated(test, |count| {
        if is_unittest {
            format!("    self.assertTrue(login(\"{subject}\", {count}))\n")
        } else {
            format!("    assert login(\"{subject}\", {count})\n")
        }
    });
    let body = if body.is_empty() { "    pass\n".to_owned() } else { body };
    let lines = format!("{above}def {start}_{name}({this}):\n{body}");
    if is_unittest {
        lines.lines().map(|line| format!("    {line}\n")).collect()
    } else {
        format!("{lines}\n")
    }
}

fn rust(test: &Test) -> String {
    let Test { name, subject, .. } = test;
    let above = match test.marker {
        Marker::Skipped => "#[test]\n#[ignore]\n",
        Marker::Inverted => "#[test]\n#[should_panic]\n",
        Marker::Conditional => "#[test]\n#[cfg_attr(windows, ignore)]\n",
        Marker::Hidden => "",
        Marker::None | Marker::Focused | Marker::Comment => "#[test]\n",
    };
    let body = repeated(test, |count| format!("    assert!(login(\"{subject}\", {count}));\n"));
    format!("{above}fn {name}() {{\n{body}}}\n")
}

fn go(test: &Test) -> String {
    let (first, rest) = test.name.split_at(1);
    let name = format!("{}{rest}", first.to_uppercase());
    let start = if test.marker == Marker::Hidden { "check" } else { "Test" };
    let skip = match test.marker {
        Marker::Skipped | Marker::Inverted => "\tt.Skip(\"flaky\")\n",
        Marker::Conditional => "\tif runtime.GOOS == \"windows\" {\n\t\tt.Skip(\"paths\")\n\t}\n",
        Marker::None | Marker::Focused | Marker::Hidden | Marker::Comment => "",
    };
    let body = repeated(test, |count| {
        format!(
            "\tif !login(\"{subject}\", {count}) {{\n\t\tt.Fatal(\"{subject}\")\n\t}}\n",
            subject = test.subject
        )
    });
    format!("func {start}{name}(t *testing.T) {{\n{skip}{body}}}\n")
}

fn bats(test: &Test) -> String {
    let Test { name, subject, .. } = test;
    let head = if test.marker == Marker::Hidden {
        format!("{name}() {{\n")
    } else {
        format!("@test \"{name}\" {{\n")
    };
    let skip = match test.marker {
        Marker::Skipped | Marker::Inverted => "  skip \"flaky\"\n",
        Marker::Conditional => "  if [ -n \"$WINDIR\" ]; then\n    skip \"paths\"\n  fi\n",
        Marker::None | Marker::Focused | Marker::Hidden | Marker::Comment => "",
    };
    let body = repeated(test, |count| format!("  run login {subject} {count}\n  [ \"$status\" -eq 0 ]\n"));
    format!("{head}{skip}{body}}}\n")
}

fn ruby(test: &Test) -> String {
    let Test { name, subject, .. } = test;
    let head = match test.marker {
        Marker::Skipped | Marker::Inverted => format!("  xit '{name}' do\n"),
        Marker::Focused => format!("  fit '{name}' do\n"),
        Marker::Hidden => format!("  helper '{name}' do\n"),
        Marker::Conditional => format!("  it '{name}', if: RUBY_PLATFORM !~ /mswin/ do\n"),
        Marker::None | Marker::Comment => format!("  it '{name}' do\n"),
    };
    let body = repeated(test, |count| format!("    expect(login('{subject}', {count})).to be(true)\n"));
    format!("{head}{body}  end\n")
}
