//! Changes of test files in several languages, and what is found in them.

use super::{ChangedFile, DiffFindings, Finding, findings};

fn file(path: &str, before: &str, after: &str) -> ChangedFile {
    let contents = |text: &str| (!text.is_empty()).then(|| text.as_bytes().to_vec());
    ChangedFile { path: path.to_owned(), before: contents(before), after: contents(after) }
}

fn shown(found: &[Finding]) -> String {
    let one = |finding: &Finding| format!("{} {} {}", finding.count, finding.text, finding.path);
    found.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Existing test, what it becomes, and the marker.
const SKIPS: &[(&str, &str, &str, &str)] = &[
    (
        "a.test.js",
        "it('works', () => {\n  expect(1);\n});",
        "it.skip('works', () => {\n  expect(1);\n});",
        ".skip",
    ),
    ("a.test.js", "test('x', f => 1)", "xtest('x', f => 1)", "xtest"),
    (
        "a.test.ts",
        "test('x', async () => {\n  a();\n})",
        "test('x', async () => {\n  test.skip();\n  a();\n})",
        "test.skip",
    ),
    (
        "a.test.ts",
        "test.each([[1, 2]])('x %i', () => 1)",
        "test.skip.each([[1, 2]])('x %i', () => 1)",
        ".skip",
    ),
    ("a.test.ts", "it<C>('x', () => 1)", "it.todo('x')", ".todo"),
    ("a.test.mjs", "test('x', () => 1)", "test('x', { skip: 'later' }, () => 1)", "skip: '"),
    (
        "a_test.ts",
        "Deno.test({ name: 'x', fn() {} })",
        "Deno.test({ name: 'x', ignore: true, fn() {} })",
        "ignore: true",
    ),
    (
        "a.test.js",
        "describe('all', () => {\n  it('x', () => 1)\n})",
        "describe.skip('all', () => {\n  it('x', () => 1)\n})",
        ".skip",
    ),
    (
        "a.test.js",
        "it('old words', () => { expect(sum(1, 2)).toBe(3) })",
        "it.skip('new words', () => { expect(sum(1, 2)).toBe(3) })",
        ".skip",
    ),
    ("a.test.js", "it('x', function () { y() })", "it('x', function () { this.skip(); y() })", "this.skip"),
    (
        "test_a.py",
        "def test_x():\n    a()\n",
        "@pytest.mark.skip(reason=\"later\")\ndef test_x():\n    a()\n",
        "@pytest.mark.skip",
    ),
    (
        "test_a.py",
        "@pytest.mark.parametrize(\n    'a', [1],\n)\ndef test_x(a):\n    a()\n",
        "@pytest.mark.skip\n@pytest.mark.parametrize(\n    'a', [1],\n)\ndef test_x(a):\n    a()\n",
        "@pytest.mark.skip",
    ),
    (
        "test_a.py",
        "def test_x(\n    a,\n):\n    a()\n",
        "def test_x(\n    a,\n):\n    a()\n    pytest.skip('later')\n",
        "pytest.skip",
    ),
    (
        "test_a.py",
        "class TestA(TestCase):\n    def test_x(self):\n        a()\n",
        "@unittest.skip('x')\nclass TestA(TestCase):\n    def test_x(self):\n        a()\n",
        "@unittest.skip",
    ),
    (
        "test_a.py",
        "def test_x():\n    a()\n",
        "@pytest.mark.xfail\ndef test_x():\n    a()\n",
        "@pytest.mark.xfail",
    ),
    (
        "test_a.py",
        "def test_x():\n    a()\n",
        "pytestmark = pytest.mark.skip\ndef test_x():\n    a()\n",
        "pytestmark = pytest.mark.skip",
    ),
    (
        "test_a.py",
        "def test_x():\n    a()\n",
        "@pytest.mark.skipif(True, reason='x')\ndef test_x():\n    a()\n",
        "@pytest.mark.skipif(True",
    ),
    ("src/a.rs", "#[test]\nfn x() {}\n", "#[test]\n#[ignore = \"slow\"]\nfn x() {}\n", "#[ignore"),
    (
        "src/a.rs",
        "    /// Says.\n    #[tokio::test]\n    async fn x() {}\n",
        "    /// Says.\n    #[ignore]\n    #[tokio::test]\n    async fn x() {}\n",
        "#[ignore",
    ),
    (
        "a_test.go",
        "func TestX(t *testing.T) {\n\ta()\n}\n",
        "func TestX(t *testing.T) {\n\tt.Skip(\"later\")\n\ta()\n}\n",
        "t.Skip",
    ),
    ("a_test.go", "var _ = It(\"x\", func() {})", "var _ = PIt(\"x\", func() {})", "PIt"),
    ("spec/a_spec.rb", "  it 'x' do\n    a\n  end\n", "  xit 'x' do\n    a\n  end\n", "xit"),
    (
        "spec/a_spec.rb",
        "  it 'x' do\n    a\n  end\n",
        "  it 'x' do\n    skip 'later'\n    a\n  end\n",
        "skip",
    ),
    (
        "spec/a_spec.rb",
        "  it 'x' do\n    a\n  end\n",
        "  it 'x', skip: true do\n    a\n  end\n",
        "skip: true",
    ),
    (
        "ATest.php",
        "    public function testX() {\n        a();\n    }\n",
        "    public function testX() {\n        $this->markTestSkipped('x');\n    }\n",
        "$this->markTestSkipped",
    ),
    (
        "tests/a.php",
        "it('x', function () {\n    a();\n});\n",
        "it('x', function () {\n    a();\n})->skip('x');\n",
        "})->skip",
    ),
    (
        "ATest.java",
        "  @Test\n  void x() {\n  }\n",
        "  @Test\n  @Disabled(\"x\")\n  void x() {\n  }\n",
        "@Disabled",
    ),
    ("ATest.kt", "  @Test\n  fun `x y`() {}\n", "  @Ignore\n  @Test\n  fun `x y`() {}\n", "@Ignore"),
    (
        "ATests.cs",
        "  [Fact]\n  public void X() {}\n",
        "  [Fact(Skip = \"x\")]\n  public void X() {}\n",
        "Skip = \"",
    ),
    (
        "ATests.swift",
        "  func testX() throws {\n    a()\n  }\n",
        "  func testX() throws {\n    throw XCTSkip(\"x\")\n  }\n",
        "XCTSkip",
    ),
    ("test/a_test.exs", "  test \"x\" do\n  end\n", "  @tag :skip\n  test \"x\" do\n  end\n", "@tag :skip"),
    ("a.bats", "@test \"x\" {\n  a\n}\n", "@test \"x\" {\n  skip \"later\"\n  a\n}\n", "skip"),
    (
        "a_test.dart",
        "  test('x', () {\n    a();\n  });\n",
        "  test('x', () {\n    a();\n  }, skip: 'x');\n",
        "}, skip: '",
    ),
    ("a_test.cc", "TEST(A, B) {\n}\n", "TEST(A, DISABLED_B) {\n}\n", "DISABLED_"),
    ("a.test.ts", "test('x', () => 1)", "test.fails('x', () => 1)", ".fails"),
    ("a.test.ts", "test('x', () => {\n  a()\n})", "test('x', () => {\n  test.fail()\n  a()\n})", "test.fail"),
    ("a.spec.ts", "test('x', () => 1)", "test.fail('x', () => 1)", ".fail"),
    ("src/a.rs", "#[test]\nfn x() {}\n", "#[test]\n#[should_panic]\nfn x() {}\n", "#[should_panic"),
    (
        "test_a.py",
        "def test_x():\n    a()\n",
        "@pytest.mark.xfail(strict=True)\ndef test_x():\n    a()\n",
        "@pytest.mark.xfail",
    ),
    (
        "ATest.kt",
        "  @Test\n  fun x() {}\n",
        "  @Test(expected = IllegalStateException::class)\n  fun x() {}\n",
        "@Test(expected =",
    ),
];

#[test]
fn an_existing_test_that_is_skipped_in_any_case_is_found() {
    for (path, before, after, marker) in SKIPS {
        let found = findings(&[file(path, before, after)]);
        assert_eq!(found.skips.len(), 1, "{path}: {after}: {found:?}");
        assert!(
            found.skips[0].text.contains(marker.trim_end_matches(['\'', '"', ' '])),
            "{path}: {after}: {found:?}"
        );
        assert_eq!(found.removed, [], "{path}: {after}");
        // The other way round, unchanged, and as a new file.
        for (before, after) in [(after, before), (after, after), (&"", after)] {
            let found = findings(&[file(path, before, after)]);
            assert_eq!(shown(&found.skips), "", "{path}: {before} -> {after}");
        }
    }
}

#[test]
fn a_condition_a_new_test_or_a_word_elsewhere_is_no_skip() {
    for (path, before, after) in [
        ("a.test.js", "it('x', () => 1)", "it('x', () => 1)\nit.skip('y', () => 2)"),
        ("a.test.js", "it('x', () => 1)", "it.skipIf(isWindows)('x', () => 1)"),
        (
            "a.test.js",
            "it('x', () => {\n  a()\n})",
            "it('x', () => {\n  test.skip(isMobile, 'no');\n  a()\n})",
        ),
        (
            "a.test.js",
            "it('x', function () {\n  a()\n})",
            "it('x', function () {\n  if (b) {\n    this.skip()\n  }\n  a()\n})",
        ),
        (
            "a.test.js",
            "it('x', () => {\n  a()\n})",
            "it('x', () => {\n  // it.skip('x', y)\n  lint(`it.skip('x', () => 1)`)\n})",
        ),
        ("a.test.js", "it('x', () => {\n  a()\n})", "it('x', () => {\n  a({ skip: true })\n})"),
        ("a.test.js", "it.skipIf(a)('x', () => 1)", "it.skip('x', () => 1)"),
        ("src/a.js", "it('x', () => 1)", "it.skip('x', () => 1)"),
        (
            "test_a.py",
            "def test_x():\n    a()\n",
            "@pytest.mark.skipif(sys.platform == 'win32', reason='x')\ndef test_x():\n    a()\n",
        ),
        (
            "test_a.py",
            "def test_x():\n    a()\n",
            "@pytest.mark.xfail(sys.platform == 'win32', reason='x')\ndef test_x():\n    a()\n",
        ),
        (
            "test_a.py",
            "def test_x():\n    a()\n",
            "def test_x():\n    if windows:\n        pytest.skip('x')\n    a()\n",
        ),
        (
            "test_a.py",
            "def test_x():\n    a()\n",
            "def test_x():\n    \"\"\"\n    pytest.skip('x')\n    \"\"\"\n    a()\n",
        ),
        (
            "test_a.py",
            "def test_x():\n    a()\n",
            "def test_x():\n    a()\n\n@pytest.mark.skip\ndef test_y():\n    b()\n",
        ),
        ("src/a.rs", "#[test]\nfn x() {}\n", "#[test]\n#[cfg_attr(windows, ignore)]\nfn x() {}\n"),
        ("src/a.rs", "fn x() {}\n", "#[ignore]\nfn x() {}\n"),
        (
            "a_test.go",
            "func TestX(t *testing.T) {\n\ta()\n}\n",
            "func TestX(t *testing.T) {\n\tif testing.Short() {\n\t\tt.Skip(\"x\")\n\t}\n\ta()\n}\n",
        ),
        (
            "spec/a_spec.rb",
            "  it 'x' do\n    a\n  end\n",
            "  it 'x' do\n    skip 'x' if windows?\n    a\n  end\n",
        ),
        (
            "ATest.java",
            "  @Test\n  void x() {\n  }\n",
            "  @Test\n  @DisabledOnOs(WINDOWS)\n  void x() {\n  }\n",
        ),
        ("a.bats", "@test \"x\" {\n  a\n}\n", "@test \"x\" {\n  [[ $CI ]] && skip \"x\"\n  a\n}\n"),
        (
            "test/a_test.exs",
            "  test \"x\" do\n  end\n",
            "  test \"x\" do\n  end\n\n  @tag :skip\n  test \"y\" do\n  end\n",
        ),
    ] {
        let found = findings(&[file(path, before, after)]);
        assert_eq!(shown(&found.skips), "", "{path}: {after}");
        assert_eq!(shown(&found.focus), "", "{path}: {after}");
    }
}

#[test]
fn a_new_focus_is_found_in_test_files_alone() {
    for (path, before, after, expected) in [
        ("tests/a.test.js", "test('x', () => 1)", "test.only('x', () => 1)", "1 test.only tests/a.test.js"),
        ("a.test.js", "", "it('x', () => 1)\nfit('y', () => 1)\nfdescribe('z', () => 1)", "2 fit a.test.js"),
        ("a.test.js", "", "test.describe.only('x', () => 1)", "1 test.describe.only a.test.js"),
        ("a_test.ts", "", "Deno.test.only('x', () => 1)", "1 Deno.test.only a_test.ts"),
        ("a.test.mjs", "", "test('x', { only: true }, () => 1)", "1 only: true a.test.mjs"),
        ("a_test.go", "", "var _ = FIt(\"x\", func() {})", "1 FIt a_test.go"),
        ("spec/a_spec.rb", "", "  it 'x', focus: true do\n  end\n", "1 focus: true spec/a_spec.rb"),
        ("spec/a_spec.rb", "", "  fit 'x' do\n  end\n", "1 fit spec/a_spec.rb"),
        (
            "tests/a.php",
            "it('x', function () {\n});\n",
            "it('x', function () {\n})->only();\n",
            "1 ->only() tests/a.php",
        ),
        ("a.test.js", "test.only('x', () => 1)", "test.only('x', () => 2)", ""),
        (
            "a.test.js",
            "",
            "// test.only('x')\ntest('x', () => lint(\"test.only('x', y)\"))\nfit(model, data)",
            "",
        ),
        ("a.test.js", "", "test('x', () => query({ only: true }))", ""),
        ("src/a.js", "", "test.only('x', () => 1)", ""),
        ("a.test.js", "it('x', () => fit('curve', 3))", "it('x', () => 1)", ""),
    ] {
        let found = findings(&[file(path, before, after)]);
        assert_eq!(shown(&found.focus), expected, "{path}: {after}");
    }
}

#[test]
fn removed_tests_are_counted_and_moved_or_renamed_ones_are_not() {
    let case = |files: &[ChangedFile], expected: &str, removes_tests: bool| {
        let found = findings(files);
        assert_eq!(shown(&found.removed), expected, "{files:?}");
        assert_eq!(found.removes_tests, removes_tests, "{files:?}");
    };
    let js = "it('a', () => { one(1) })\nit('b', () => { two(2, 3, 4, 5) })\n";
    case(&[file("a.test.js", js, "it('a', () => { one(1) })\n")], "1  a.test.js", true);
    case(&[file("a.test.js", js, "")], "2  a.test.js", true);
    case(&[file("a.test.js", js, "it('a', () => 1)\nit('c', () => { two(2, 3, 4, 5) })\n")], "", false);
    case(&[file("a.test.js", js, ""), file("b.test.ts", "", js)], "", false);
    case(&[file("src/a.js", js, "")], "", false);
    case(
        &[file("test_a.py", "class TestA:\n    def test_a(self):\n        a()\n", "x = 1\n")],
        "1  test_a.py",
        true,
    );
    case(&[file("src/a.rs", "#[test]\nfn a() {}\nfn b() {}\n", "fn c() {}\n")], "1  src/a.rs", true);
    case(
        &[file("a_test.go", "func TestA(t *testing.T) {\n}\nfunc b() {}\n", "package a\n")],
        "1  a_test.go",
        true,
    );
    // What is not read well is not counted.
    case(&[file("ATest.java", "  @Test\n  void a() {\n  }\n", "class X {}\n")], "", true);
    case(&[file("a_test.lua", "x", "")], "", true);
    case(&[file("a_test.lua", "x", "y")], "", false);
}

#[test]
fn tests_that_leave_the_sight_of_their_runner_are_removed_and_no_excuse() {
    let python = "def test_a():\n    a()\n";
    let go = "func TestA(t *testing.T) {\n}\n";
    let js = "it('a', () => { one(1) })\n";
    for (path, before, to, after) in [
        ("tests/test_x.py", python, "tests/helper_x.py", python),
        ("test_x.py", python, "helper_x.py", python),
        ("x_test.go", go, "x_windows_test.go", go),
        ("x_test.go", go, "x.go", go),
        ("tests/a.test.js", js, "tests/a.helper.js", js),
        ("x_test.go", go, "x_test.go", &format!("//go:build never\n\n{go}")),
        ("tests/test_x.py", python, "tests/test_x.py", &format!("__test__ = False\n{python}")),
        ("tests/a.rs", "#[test]\nfn a() {}\n", "tests/a.rs", "#![cfg(any())]\n#[test]\nfn a() {}\n"),
    ] {
        let files = if path == to {
            vec![file(path, before, after)]
        } else {
            vec![file(path, before, ""), file(to, "", after)]
        };
        let found = findings(&files);
        assert_eq!(
            (shown(&found.removed), found.removes_tests),
            (format!("1  {path}"), false),
            "{path} -> {to}"
        );
    }
    // To another file that the runner finds, out of a folder of helpers, and a condition that was there.
    let tagged = format!("//go:build linux\n\n{go}");
    for files in [
        vec![file("tests/test_x.py", python, ""), file("tests/test_y.py", "", python)],
        vec![file("tests/checks.py", python, ""), file("tests/test_y.py", "", python)],
        vec![file("x_test.go", &tagged, &format!("{tagged}// more\n"))],
    ] {
        assert_eq!(findings(&files), DiffFindings::default(), "{files:?}");
    }
}

#[test]
fn tests_that_become_one_with_parameters_are_merged() {
    let before = "def test_a():\n    a(1)\n\ndef test_b():\n    a(2)\n";
    let after = "@pytest.mark.parametrize('x', [1, 2])\ndef test_c(x):\n    a(x)\n";
    assert_eq!(shown(&findings(&[file("test_a.py", before, after)]).removed), "2 merged test_a.py");
    assert_eq!(shown(&findings(&[file("test_a.py", before, "x = 1\n")]).removed), "2  test_a.py");
}

#[test]
fn files_that_run_by_themselves_are_named_with_what_runs_them() {
    for (path, before, after, expected) in [
        (".husky/post-merge", "", "x", "git"),
        (".pre-commit-config.yaml", "a", "b", "git"),
        (".gitattributes", "*.png binary\n", "*.png binary\n*.c filter=x\n", "git"),
        (".vscode/tasks.json", "", "{}", "editors"),
        (".claude/settings.local.json", "", "{}", "agents"),
        (".mcp.json", "", "{}", "agents"),
        ("web/.envrc", "", "x", "the shell"),
        (".devcontainer/devcontainer.json", "", "{}", "containers"),
        (".cargo/config.toml", "a", "b", "cargo"),
        ("build.rs", "", "fn main() {}", "cargo"),
        ("package.json", "{\n}", "{\n  \"postinstall\": \"node x\"\n}", "npm"),
        // As it was, gone, and daily work.
        (".husky/post-merge", "x", "", ""),
        ("build.rs", "fn main() {}", "fn main() { a() }", ""),
        (".gitattributes", "", "*.sh text eol=lf\n", ""),
        ("package.json", "{\n}", "{\n  \"build\": \"tsc\",\n  \"dependencies\": {}\n}", ""),
        (".github/workflows/ci.yml", "", "x", ""),
        (".vscode/settings.json", "", "{}", ""),
        ("node_modules/a/.envrc", "", "x", ""),
    ] {
        let found = findings(&[file(path, before, after)]).by_itself;
        assert_eq!(found.first().map_or("", |(_, when)| when), expected, "{path}: {after}");
        assert!(expected.is_empty() || super::is_worth_reading(path), "{path}");
    }
}

#[test]
fn fewer_assertions_count_where_no_test_was_removed() {
    let case =
        |path: &str, before: &str, after: &str| shown(&findings(&[file(path, before, after)]).fewer_asserts);
    let js = "it('a', () => {\n  expect(x).toBe(1)\n  expect(y).toBe(2)\n})\nit('b', () => {\n  assert.equal(a, b)\n})\n";
    assert_eq!(case("a.test.js", js, &js.replace("  expect(x).toBe(1)\n", "")), "1  a.test.js");
    assert_eq!(case("a.test.js", js, &js.replace("expect(y)", "// expect(y)")), "1  a.test.js");
    assert_eq!(case("a.test.js", js, "it('a', () => {\n})\n"), "");
    assert_eq!(case("a.test.js", js, &format!("{js}x()")), "");
    let python = "def test_a():\n    assert a\n    self.assertEqual(b, c)\n";
    assert_eq!(case("test_a.py", python, "def test_a():\n    assert a\n"), "1  test_a.py");
    let rust = "fn a() {\n    assert!(x);\n}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn b() {\n        assert_eq!(1, a());\n    }\n}\n";
    assert_eq!(case("src/a.rs", rust, &rust.replace("assert_eq!(1, a())", "a()")), "1  src/a.rs");
    assert_eq!(case("src/a.rs", rust, &rust.replace("assert!(x)", "x")), "");
    let go = "func TestA(t *testing.T) {\n\tif a() {\n\t\tt.Fatal(1)\n\t}\n}\n";
    assert_eq!(case("a_test.go", go, &go.replace("t.Fatal(1)", "_ = 1")), "1  a_test.go");
    assert_eq!(
        case(
            "ATest.java",
            "  @Test\n  void a() {\n    assertEquals(a, b);\n  }\n",
            "  @Test\n  void a() {\n  }\n"
        ),
        ""
    );
}

#[test]
fn files_that_decide_what_runs_are_named() {
    for (path, before, after, expected) in [
        ("jest.config.js", "a", "b", true),
        ("jest.config.js", "a", "", true),
        ("jest.config.js", "", "a", true),
        ("examples/a/jest.config.js", "", "a", false),
        ("tests/fixtures/tox.ini", "", "a", false),
        ("web/package.json", "", "{\n  \"test\": \"jest\"\n}", false),
        ("tests/conftest.py", "", "def pytest_sessionfinish(session):\n    os._exit(0)\n", true),
        ("tests/conftest.py", "", "@pytest.fixture\ndef client():\n    return 1\n", false),
        (".npmrc", "", "script-shell=./sh\n", true),
        (".npmrc", "", "save-exact=true\n", false),
        ("bunfig.toml", "[install]\n", "[install]\npreload = [\"./x.ts\"]\n", true),
        ("package.json", "{\n  \"test\": \"jest\"\n}", "{\n  \"test\": \"jest -t x\"\n}", true),
        ("package.json", "{\n  \"test\": \"jest\"\n}", "{\n  \"test\": \"jest\",\n  \"x\": \"1\"\n}", false),
        (
            "pyproject.toml",
            "[tool.pytest.ini_options]\naddopts = \"\"",
            "[tool.pytest.ini_options]\naddopts = \"-k x\"",
            true,
        ),
        ("pyproject.toml", "a = 1", "a = 2", false),
        ("src/a.py", "addopts = 1", "addopts = 2", false),
    ] {
        let found = findings(&[file(path, before, after)]);
        assert_eq!(!found.config.is_empty(), expected, "{path}: {after}");
    }
}

#[test]
fn binary_and_large_files_are_not_read() {
    let large = "x".repeat(2 << 20);
    for after in ["test.only('x', () => 1)\0", &format!("test.only('x', () => 1)\n{large}")] {
        assert_eq!(findings(&[file("a.test.js", "", after)]), DiffFindings::default());
    }
}
