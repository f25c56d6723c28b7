//! A session as a page, as a summary and as data; that the page is read well is looked at in `tests/page/`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::sandbox::{Program, Run, Sandbox};

/// T001 fails once and succeeds; T002 fails until it is skipped.
const STORY: &str = r#"
[[turn]]
task = "T001"
attempt = 1
do = [{ say = "Not yet <script>alert(1)</script>." }]
[[turn]]
task = "T001"
do = [{ write = { path = "hello.txt", text = "hello\n</pre>\n" } }, { say = "Done." }, { tick = "current" }]
[[turn]]
do = [{ say = "I cannot. LONG" }]
"#;

fn recorded_scene() -> Sandbox {
    let scene = Sandbox::new();
    scene
        .tasks("## Phase 1: All\n\n- [ ] T001 Say <b>hello</b>\n- [ ] T002 Ask @somebody about #12")
        .agent_script(&STORY.replace("LONG", &"and so on, ".repeat(1000)))
        .validate("echo 'checked <i>'")
        .commit("Ready");
    scene.ralph("").code(5);
    scene
}

/// The page on stdout.
#[track_caller]
fn page(scene: &Sandbox, words: &str) -> String {
    let run: Run = scene.ralph(&format!("report -o - {words}")).code(0);
    let text = run.text();
    assert!(text.starts_with("<!doctype html>") && text.trim_end().ends_with("</html>"), "{text}");
    text
}

#[test]
fn the_page_tells_the_session_and_what_comes_from_outside_is_text() {
    let scene = recorded_scene();
    let session = scene.session().id().to_owned();
    let before = scene.everything();
    let page = page(&scene, "");
    assert_eq!(scene.everything(), before, "a page on stdout writes nothing");
    for part in [
        "<h1>1 of 2 tasks done. One needs you.</h1><p>One check that three attempts did not pass.</p>",
        "<span class=\"tag bad\">✘ Fails</span><b><bdi>T002</bdi></b> <bdi>Ask @somebody about #12</bdi> <span class=\"s\">3 attempts</span>",
        format!("<code class=\"command\">specify ralph hint --session {session} --task T002 ").as_str(),
        "<dd class=\"v\">1 file, +2 −0</dd><dd class=\"s\"><span class=\"am\">not committed</span>",
        "<dd class=\"v\">5</dd><dd class=\"s\">4 failed, 1 of them solved later</dd>",
        "<bdi>hello.txt</bdi></span><span class=\"for\">T001</span><span class=\"num ok\">+2</span>",
        "<b>diff --git a/hello.txt b/hello.txt\n",
        "given up after it",
        "the agent did not tick the task",
        "Say &lt;b&gt;hello&lt;/b&gt;",
        "<p>Not yet &lt;script&gt;alert(1)&lt;/script&gt;.",
        "<ins>+hello\n+&lt;/pre&gt;</ins>",
        "checked &lt;i&gt;",
        "default-src &#39;none&#39;",
    ] {
        let part = part.replace("&#39;", "'");
        assert!(page.contains(&part), "no `{part}` in {page}");
    }
    assert_eq!(page.matches("<details class=\"a ").count(), 5);
    assert_eq!(page.matches("<script>").count(), 1);
}

#[test]
fn without_a_place_the_page_goes_where_nobody_commits_it_and_its_path_is_printed() {
    let scene = recorded_scene();
    let status = scene.git("status --porcelain");
    let said = scene.ralph("report").code(0).text();
    let path = said.trim_end();
    assert!(path.contains("/.git/ralph/reports/001-login-"), "{path}");
    let written = fs::read_to_string(path).expect("it is there");
    assert!(written.contains("1 of 2 tasks done. One needs you."));
    assert_eq!(scene.git("status --porcelain"), status);
    assert_eq!(fs::metadata(scene.path(".git/ralph/reports")).unwrap().permissions().mode() & 0o077, 0);
    scene.ralph("report").code(0).stdout(&said);
    // What is taken away must not stay on a page.
    scene.journal_differs();
    let id = scene.session().id().to_owned();
    scene.ralph(&format!("purge {id} --local --yes")).code(0);
    assert!(!fs::exists(path).unwrap());
}

#[test]
fn only_a_report_is_written_over_unasked() {
    let scene = recorded_scene();
    let out = scene.outside("out");
    fs::create_dir(&out).unwrap();
    let report = |words: &str| scene.call(&format!("report {words}")).run();
    let file = out.join("r.html");
    let name = file.to_str().unwrap();
    for form in ["", "--markdown", "--json", ""] {
        report(&format!("-o {name} {form}")).code(0).stdout(format!("{name}\n"));
        assert!(fs::metadata(&file).unwrap().len() > 500);
    }
    fs::write(&file, "mine").unwrap();
    report(&format!("-o {name}")).code(1).stderr_has("exists and is not a report").stderr_has("hint: ");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    report(&format!("-o {name} --force")).code(0);
    assert!(fs::read_to_string(&file).unwrap().starts_with("<!doctype html>"));
    // A link stays a link.
    let link = out.join("link.html");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    report(&format!("-o {}", link.display())).code(0);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_dir(&out).unwrap().count(), 2, "no draft is left");
}

#[test]
fn wrong_calls_say_what_to_do() {
    let scene = recorded_scene();
    let out = scene.outside("closed");
    fs::create_dir(&out).unwrap();
    fs::set_permissions(&out, fs::Permissions::from_mode(0o500)).unwrap();
    let closed = format!("report -o {}", out.join("r.html").display());
    scene.call(&closed).bound_by_modes().run().code(1).stderr_has("r.html").stderr_has("ermission denied");
    fs::set_permissions(&out, fs::Permissions::from_mode(0o700)).unwrap();
    for (words, code, said) in [
        ("report --session 19990101", 1, "there is no session 19990101"),
        ("report --feature specs/009-x", 1, "no session of a feature `specs/009-x` is recorded here"),
        ("report -o .", 1, "is a folder"),
        ("report -o nowhere/r.html", 1, "nowhere/r.html"),
        ("report -o - --open", 1, "there is no file to open"),
        ("report --markdown --json", 2, "cannot be used with"),
        ("report --markdown --open", 2, "cannot be used with"),
        ("report --max-size 0", 2, "is not a size"),
        ("report --max-size lots", 2, "is not a size"),
        ("report --force", 2, "--output"),
    ] {
        scene.ralph(words).code(code).stderr_has(said);
    }
}

#[test]
fn open_starts_the_browser_that_is_set_and_says_where_the_page_is_when_there_is_none() {
    let scene = recorded_scene();
    let seen = scene.outside("seen");
    scene.program("my-browser", &format!("echo \"$#:$1\" > {0}.new; mv {0}.new {0}", seen.display()));
    let said = scene.call("report --open").env("BROWSER", "not-there:my-browser %s").run().code(0).text();
    assert_eq!(fs::read_to_string(&seen).unwrap(), format!("1:{said}"));
    let failed = scene.call("report --open").env("BROWSER", "false").run().code(1).stderr_has("exit code 1");
    failed.stderr_has(&format!("hint: open {} yourself", said.trim_end())).stdout_has("reports/");
}

#[test]
fn the_summary_for_a_pull_request_mentions_nobody() {
    let scene = recorded_scene();
    let summary = scene.ralph("report --markdown").code(0);
    let summary = summary
        .stdout_has("<!-- specify-ralph 1 -->\n**1 of 2 tasks · 1 not done**\n")
        .stdout_has("| Ended | `1 of 2 tasks done · stopped: T002 could not be done` |")
        .stdout_has("| T001 Say \\<b\\>hello\\</b\\> | – | ")
        .stdout_has("**Not done:** T002 Ask \\@\u{200b}somebody about \\#\u{200b}12 (");
    for line in summary.text().lines() {
        // An entity is no reference.
        let outside: String = line.replace("&#", "").split('`').step_by(2).collect();
        let is_broken = |sign: char| outside.split(sign).skip(1).all(|rest| rest.starts_with('\u{200b}'));
        assert!(outside.starts_with('#') || is_broken('@') && is_broken('#'), "{line}");
    }
}

#[test]
fn the_data_has_what_the_page_is_made_of() {
    let scene = recorded_scene();
    let report = scene.ralph("report --json").code(0).json();
    assert_eq!((&report["schema"], &report["session"]["stop_reason"]), (&1.into(), &"stuck".into()));
    assert_eq!(
        report["counts"],
        serde_json::json!({"success": 1, "failure": 4, "skipped": 1, "interrupted": 0})
    );
    assert_eq!(report["clusters"][0]["iterations"], serde_json::json!([3, 4, 5]));
    let states: Vec<_> = report["tasks"].as_array().unwrap().iter().map(|task| &task["state"]).collect();
    assert_eq!(states, ["done", "skipped"]);
    let second = &report["iterations"][1];
    assert_eq!(second["record"]["closed"], serde_json::json!(["T001"]));
    assert!(second["diff"]["patch"]["text"].as_str().unwrap().contains("+hello\n"), "{second}");
    assert!(second["prompt"]["text"].as_str().unwrap().contains("T001"));
    assert_eq!(second["answer"]["text"], "Done.\n");
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/report.md")).unwrap();
    for part in [
        &report,
        second,
        &report["tasks"][0],
        &report["clusters"][0],
        &report["attention"][0],
        &report["headline"],
        &report["not_done"][0],
        &report["changes"]["files"][0],
    ] {
        for key in part.as_object().unwrap().keys() {
            assert!(page.contains(&format!("`{key}`")), "docs/report.md does not tell of {key}");
        }
    }
    let cut = scene.ralph("report --json --max-part 100").code(0).json();
    assert_eq!(cut["iterations"][1]["prompt"]["is_cut"], true);
}

#[test]
fn a_page_keeps_to_its_size_and_says_what_it_leaves_out() {
    let scene = recorded_scene();
    let (session, whole) = (scene.session().id().to_owned(), page(&scene, ""));
    assert!(!whole.contains("cut at"));
    let small = page(&scene, "--max-size 48KB");
    assert!(small.len() <= 48_000 && small.len() < whole.len(), "{}", small.len());
    assert!(
        small.contains(&format!("report --session {session} --max-size"))
            && small.contains("is shown. All of it: <code>specify ralph show ")
    );
    let named = small.split("All of it: <code>specify ralph ").nth(1).unwrap().split('<').next().unwrap();
    scene.ralph(named).code(0);
    let cut = page(&scene, "--max-part 64");
    let more = format!("<code>specify ralph report --session {session} --max-part 1MiB</code> shows more");
    assert!(cut.contains(&more), "{cut}");
    let tiny = scene.ralph("report -o - --max-size 1KB").code(0).stderr_has("the page takes ");
    assert!(tiny.text().contains("The oldest 5 attempts are left out"));
}

#[test]
fn a_clone_without_snapshots_says_so_and_a_shallow_one_too() {
    let scene = recorded_scene();
    let clone = scene.outside("clone");
    let clone_path = clone.to_str().unwrap().to_owned();
    // By an address, or git would link all objects that are here.
    let url = format!("file://{}", scene.repo().display());
    scene.git(["clone", "--quiet", &url, &clone_path]);
    scene.git(["-C", &clone_path, "fetch", "--quiet", "origin", "refs/ralph/*:refs/ralph/*"]);
    let from = |dir: &str| scene.call("report -o -").dir(dir).run().code(0);
    from(&clone_path).stdout_has("Some snapshots are not here").stdout_has("Files: hello.txt");
    let shallow = scene.outside("shallow");
    let shallow_path = shallow.to_str().unwrap().to_owned();
    scene.git(["clone", "--quiet", "--depth", "1", &url, &shallow_path]);
    scene.git([
        "-C",
        &shallow_path,
        "fetch",
        "--quiet",
        "--depth",
        "3",
        "origin",
        "refs/ralph/*:refs/ralph/*",
    ]);
    from(&shallow_path).stdout_has("This clone is shallow").stdout_has("id=\"i5\"").stderr_has("shallow");
}

#[test]
fn a_session_that_runs_and_one_without_iterations_have_a_page_too() {
    let scene = Sandbox::with_succeeding_agent(1);
    scene.agent_sh("specify ralph report -o - > ../inside.html 2> ../inside.err; tick all");
    scene.program("specify", &format!("exec {} \"$@\"", Program::Specify.path()));
    scene.validate("true").commit("Looks at itself");
    scene.ralph("").code(0);
    let inside = fs::read_to_string(scene.outside("inside.html")).unwrap();
    let said = fs::read_to_string(scene.outside("inside.err")).unwrap();
    assert!(inside.contains("<h1>0 of 1 task done so far.</h1>"), "{said}{inside}");
    for part in [
        "Nothing has been recorded yet.",
        "<span class=\"tag act\">● Now</span><b><bdi>T001</bdi></b>",
        "specify ralph stop",
    ] {
        assert!(inside.contains(part), "no `{part}` in {inside}");
    }
    page(&scene, "");
    let nothing = Sandbox::new();
    nothing.ralph("report").code(1).stderr_has("no session is recorded here");
}

#[test]
fn the_index_has_a_row_for_each_session_and_what_came_back() {
    let scene = recorded_scene();
    scene.ralph("").code(5);
    let ids: Vec<String> = scene.sessions().iter().map(|session| session.id().to_owned()).collect();
    let before = scene.everything();
    let page = page(&scene, "--all");
    assert_eq!(scene.everything(), before, "a page on stdout writes nothing");
    for id in &ids {
        assert!(page.contains(&format!("<code>{id}</code></td></tr>")), "no row of {id} in {page}");
    }
    for part in [
        "<h1>1 of 2 tasks done. One needs you.</h1>",
        "1 of 2 done · 2 nights · T002 fails since ",
        "<td>4 of 5</td>",
    ] {
        assert!(page.contains(part), "no `{part}` in {page}");
    }
    assert!(!page.contains("<script") && !page.contains("<b>hello"), "{page}");
    let index = scene.ralph("report --all --json --feature 001").code(0).json();
    assert_eq!(index["sessions"].as_array().unwrap().len(), 2);
    assert_eq!(index["sessions"][0]["cost_usd"], serde_json::Value::Null);
    assert_eq!(index["sessions"][0]["attempts"], 5);
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/report.md")).unwrap();
    for part in [&index, &index["sessions"][0], &index["costliest_tasks"][0]] {
        for key in part.as_object().unwrap().keys() {
            assert!(text.contains(&format!("`{key}`")), "docs/report.md does not tell of {key}");
        }
    }
    let written = scene.ralph("report --all").code(0).text();
    assert!(written.ends_with("/.git/ralph/reports/all.html\n"), "{written}");
    scene.ralph("report --all --markdown").code(2).stderr_has("cannot be used with");
    scene.ralph(&format!("report --all --session {}", ids[0])).code(2).stderr_has("cannot be used with");
    scene.ralph("report --all --feature nowhere").code(1).stderr_has("no session of a feature `nowhere`");
    Sandbox::new().ralph("report --all").code(1).stderr_has("no session is recorded here");
}
