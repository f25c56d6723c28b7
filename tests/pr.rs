//! `pr`: the branch of a session as a pull request. What would go over the network is recorded by programs of the scene.

use std::fs;

use crate::sandbox::{Run, Sandbox};

/// Plays `gh` and `glab`: keeps what it was called with and given, and has the pull request that was made in it.
const FORGE: &str = r#"echo "$(basename $0) $*" >> $BESIDE/calls
case "$*" in
--version) exit 0;;
*"--method GET"*merge_requests*|*"--method GET"*pulls*) cat $BESIDE/open 2>/dev/null || echo '[]';;
*"--method GET"*) echo '{"id": 41}';;
*) cat > $BESIDE/sent; [ ! -e $BESIDE/refuses ] || { echo 'HTTP 401: Bad credentials' >&2; exit 1; }
case "$*" in
pr*) printf '\nhttps://github.com/acme/shop/pull/7\n';;
*) echo '{"number": 7, "html_url": "https://github.com/acme/shop/pull/7"}';;
esac;;
esac"#;

/// A project on a branch of its own, whose remote is at this address as git has it, and a folder in truth.
fn project_at(address: &str) -> Sandbox {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 Write one, Fixes #12\n- [ ] T002 Write two @ada\n- [ ] T003 Ask");
    scene.write("specs/001-login/spec.md", "# Feature Specification: Log in\n").write("tests/.keep", "");
    scene.agent_sh(
        "cat > /dev/null\ncase $RALPH_TASK in\nT001) echo 1 > one.js; echo 1 > tests/one.test.js;;\n\
         T002) echo 2 > two.js; mkdir -p .vscode; echo '{}' > .vscode/tasks.json;;\n\
         *) echo 'Question: Which server should I use?'; exit;;\nesac\ntick $RALPH_TASK",
    );
    scene.validate("n=$(ls tests | wc -l); echo \"Tests:       $((n + 1)) passed, $((n + 1)) total\"");
    scene.agent_uses_git().config("commit = 'task'").commit("Begin");
    let bare = scene.with_remote();
    scene.git(["config", "remote.origin.url", address]);
    scene.git(["config", &format!("url.{}.insteadOf", bare.display()), address]);
    scene.git("checkout --quiet -b 001-login");
    let beside = scene.outside("");
    for program in ["gh", "glab"] {
        scene.program(program, &FORGE.replace("$BESIDE", beside.to_str().expect("scenes have plain names")));
    }
    scene
}

fn project() -> Sandbox {
    let scene = project_at("https://github.com/acme/shop.git");
    scene.call("run").with_baseline().judged().run().code(5);
    scene
}

fn beside(scene: &Sandbox, name: &str) -> String {
    fs::read_to_string(scene.outside(name)).unwrap_or_default()
}

/// The branches and records that the remote has.
fn there(scene: &Sandbox) -> String {
    scene.git_in(&scene.outside("remote.git"), "for-each-ref --format=%(refname)")
}

fn dry(scene: &Sandbox) -> Run {
    scene.ralph("pr --dry-run").code(0)
}

#[test]
fn a_pull_request_is_made_and_written_anew_between_its_marks() {
    let scene = project();
    let before = [scene.git("status --porcelain"), scene.git("rev-parse HEAD"), scene.read(".git/config")];
    let made = scene.ralph("pr --yes --draft").code(0).stdout("https://github.com/acme/shop/pull/7\n");
    made.stderr_has("made a pull request into main");
    assert_eq!(there(&scene), "refs/heads/001-login\nrefs/heads/main");
    assert!(beside(&scene, "calls").ends_with(
        "gh pr create --repo github.com/acme/shop --base=main --head=001-login --title=Log in --body-file=- --draft\n"
    ));
    let body = beside(&scene, "sent");
    for part in [
        "<!-- specify-ralph 1 -->\n**2 of 3 tasks · 2 tests, 1 before · 1 to look at · 1 not done**\n",
        "\n| ⚑ T002 | `.vscode/tasks.json` | runs by itself: .vscode/tasks.json (editors) |\n",
        "\n**Asked:** T003 Ask wants to know: *Which server should I use?*\n",
        "\n**No test proves:** T002\n",
        "| T001 Write one, Fixes \\#\u{200b}12 | `",
        "| T002 Write two \\@\u{200b}ada | `",
        "| no test | ⚑ |\n",
        "\ngit fetch origin 001-login:pr/001-login\nspecify ralph verify origin/main..pr/001-login\n```\n<!-- /specify-ralph -->\n",
    ] {
        assert!(body.contains(part), "{part} is not in {body}");
    }
    let commit = scene.git("log -1 --format=%h --abbrev=10 --grep=T001");
    assert!(body.contains(&format!("`{commit}` | +2 −0 | +1 |")), "{body}");
    // People wrote around it, and another night went on.
    let theirs = body.replacen("<!-- specify", "Mine\r\n<!-- specify", 1) + "and mine\r\n";
    let open = serde_json::json!([{ "number": 7, "html_url": "https://github.com/acme/shop/pull/7", "body": theirs }]);
    fs::write(scene.outside("open"), open.to_string()).expect("the pull request is open");
    scene.git(["commit", "--quiet", "--allow-empty", "--message", "By hand"]);
    scene
        .ralph("pr")
        .code(0)
        .stdout("https://github.com/acme/shop/pull/7\n")
        .stderr_has("updated pull request 7");
    let sent: serde_json::Value = serde_json::from_str(&beside(&scene, "sent")).expect("JSON was sent");
    let now = sent["body"].as_str().expect("a text");
    assert!(
        now.starts_with("Mine\r\n<!-- specify-ralph 1 -->\n")
            && now.ends_with("<!-- /specify-ralph -->\nand mine\r\n"),
        "{now}"
    );
    assert!(
        now.contains("git fetch origin pull/7/head:pr/7\nspecify ralph verify origin/main..pr/7\n"),
        "{now}"
    );
    assert!(now.contains(" 1 commit after the last one of a task: not judged here."), "{now}");
    assert_eq!(sent.get("title"), None, "the title is as people left it");
    assert!(beside(&scene, "calls").ends_with(
        "gh api --hostname github.com --method PATCH repos/acme/shop/pulls/7 --header Content-Type: application/json --input -\n"
    ));
    assert_eq!(scene.git("rev-parse HEAD~1"), before[1]);
    assert_eq!(
        [scene.git("status --porcelain"), scene.read(".git/config")],
        [before[0].clone(), before[2].clone()]
    );
}

#[test]
fn gitlab_and_forks_have_theirs() {
    let scene = project_at("git@gitlab.com:acme/web/shop.git");
    scene.ralph("run -n 1").code(4);
    scene.ralph("pr --yes --draft").code(0);
    assert!(beside(&scene, "calls").ends_with(
        "glab api --hostname gitlab.com --method POST projects/acme%2Fweb%2Fshop/merge_requests --header Content-Type: application/json --input -\n"
    ));
    let sent: serde_json::Value = serde_json::from_str(&beside(&scene, "sent")).expect("JSON was sent");
    assert_eq!((&sent["source_branch"], &sent["target_branch"]), (&"001-login".into(), &"main".into()));
    assert_eq!(
        (&sent["title"], &sent["target_project_id"]),
        (&"Draft: Log in".into(), &serde_json::Value::Null)
    );
    // A fork: the branch goes to it, the request to where it came from.
    let scene = project();
    let upstream = scene.outside("upstream.git");
    scene.git([
        "clone",
        "--quiet",
        "--bare",
        scene.outside("remote.git").to_str().expect("plain"),
        upstream.to_str().expect("plain"),
    ]);
    scene.git("remote add upstream https://github.com/big/shop.git");
    scene.git([
        "config",
        &format!("url.{}.insteadOf", upstream.display()),
        "https://github.com/big/shop.git",
    ]);
    scene.ralph("pr --yes --records").code(0);
    let calls = beside(&scene, "calls");
    assert!(
        calls.contains("repos/big/shop/pulls -f state=open -f head=acme:001-login -f base=main\n"),
        "{calls}"
    );
    assert!(calls.contains("--repo github.com/big/shop --base=main --head=acme:001-login "), "{calls}");
    let (body, fork) = (beside(&scene, "sent"), scene.outside("remote.git"));
    assert!(body.contains(&format!("git fetch {} 001-login:pr/001-login\n", fork.display())), "{body}");
    let log = format!("refs/ralph/001-login/{}", scene.session().id());
    assert!(body.contains(&format!("records at `{} {log}`", fork.display())), "{body}");
    assert!(there(&scene).contains(&log) && !there(&scene).contains("snapshots"));
    assert_eq!(scene.git_in(&upstream, "for-each-ref --format=%(refname)"), "refs/heads/main");
}

#[test]
fn the_first_push_is_asked_for_and_a_dry_one_pushes_nothing() {
    let scene = project();
    let pr = |words: &str| scene.call(words).env("SPECKIT_RALPH_SYNC_CONFIRMED", "").run();
    let body = dry(&scene)
        .stderr_has("001-login (2 commits) would go to origin, and a pull request into main, with gh\n");
    body.stdout_has("<!-- specify-ralph 1 -->\n");
    let asked =
        pr("pr").code(3).stderr_has("would go to origin (").stderr_has("remote.git) for the first time");
    asked.stderr_has("`specify ralph pr --yes` pushes and remembers it");
    assert_eq!(there(&scene), "refs/heads/main");
    pr("pr --yes").code(0);
    pr("pr").code(0);
    // To push records is asked for apart.
    pr("pr --records").code(3).stderr_has("1 session with prompts, outputs and what agents said");
    assert!(!there(&scene).contains("refs/ralph/"));
    fs::write(scene.outside("refuses"), "").expect("the host refuses");
    let refused = pr("pr").code(1).stderr_has("gh: HTTP 401: Bad credentials");
    refused.stderr_has("`gh auth status` says whether it is logged in");
}

#[test]
fn a_branch_that_a_pushurl_sends_elsewhere_is_asked_for_by_that_address() {
    let scene = project();
    let pr = |words: &str| scene.call(words).env("SPECKIT_RALPH_SYNC_CONFIRMED", "").run();
    pr("pr --yes").code(0);
    scene.git("commit --quiet --allow-empty --message More");
    pr("pr").code(0);
    let (bare, elsewhere) = (scene.outside("remote.git"), scene.outside("elsewhere.git"));
    let [from, to] = [&bare, &elsewhere].map(|path| path.to_str().expect("plain"));
    scene.git(["clone", "--quiet", "--bare", from, to]);
    scene.git(["config", "remote.origin.pushurl", to]);
    scene.git("commit --quiet --allow-empty --message Again");
    let tip = |bare| scene.git_in(bare, "rev-parse 001-login");
    let before = tip(&elsewhere);
    pr("pr").code(3).stderr_has(&format!("would go to origin ({to}) for the first time"));
    assert_eq!(tip(&elsewhere), before);
    pr("pr --yes").code(0);
    assert_eq!(tip(&elsewhere), scene.git("rev-parse HEAD"));
    assert_eq!(tip(&bare), before);
    pr("pr").code(0);
    // Records are asked for apart, by the same address.
    pr("pr --records").code(3).stderr_has("1 session with prompts").stderr_has(&format!("origin ({to})"));
}

#[test]
fn what_cannot_be_a_pull_request_is_refused_and_nothing_is_pushed() {
    let scene = project();
    let refused = |words: &str, said: &str| {
        scene.ralph(words).code(3).stderr_has(said);
        assert_eq!(there(&scene), "refs/heads/main", "{words}");
    };
    scene.write("one.js", "changed");
    refused("pr --yes", "not committed: one.js");
    scene.git("checkout --quiet -- one.js");
    refused("pr --yes --base other", "origin has no branch other");
    refused("pr --yes --base 001-login", "is the branch that others work from");
    scene.git("branch --quiet kept");
    scene.git("reset --quiet --hard main");
    refused("pr --yes", "001-login has no commit that origin/main has not");
    scene.git("reset --quiet --hard kept");
    scene.git("checkout --quiet main");
    refused("pr --yes", "no session is recorded on main");
    refused("pr --yes --feature 001", "worked on 001-login, which is not checked out");
    // Others went on.
    scene.git(["commit", "--quiet", "--allow-empty", "--message", "Theirs"]);
    scene.git("push --quiet origin main");
    scene.git("reset --quiet --hard HEAD~1");
    scene.git("checkout --quiet 001-login");
    scene.ralph("pr --yes").code(3).stderr_has("001-login lacks commits that origin/main has");
    let nothing = Sandbox::new();
    nothing.ralph("pr").code(1).stderr_has("no session is recorded here");
}

#[test]
fn without_a_program_for_the_host_its_text_is_left_to_the_person() {
    for (address, why) in [
        ("https://codeberg.org/acme/shop.git", "codeberg.org is neither GitHub nor GitLab"),
        ("https://github.com/acme/shop.git", "gh is not installed"),
    ] {
        let scene = project_at(address);
        scene.ralph("run -n 1").code(4);
        scene.program("gh", "exit 1");
        let run = scene.ralph("pr --yes").code(1).stdout_has("<!-- specify-ralph 1 -->\n").stderr_has(why);
        run.stderr_has("make one from 001-login into main with this text");
        assert!(there(&scene).contains("refs/heads/001-login"));
    }
}

#[test]
fn all_nights_of_a_branch_count_and_what_is_merged_does_not() {
    let scene = project_at("https://github.com/acme/shop.git");
    let body = |scene: &Sandbox| dry(scene).text();
    scene.ralph("run --task T001").code(0);
    scene.ralph("run --task T002").code(0);
    let both = body(&scene);
    assert!(both.contains("| T001 Write one") && both.contains("| T002 Write two"), "{both}");
    // The first is merged.
    let first = scene.git("log -1 --format=%H --grep=T001");
    scene.git(["push", "--quiet", "origin", &format!("{first}:refs/heads/main")]);
    let rest = body(&scene);
    assert!(!rest.contains("| T001 Write one") && rest.contains("| T002 Write two"), "{rest}");
    assert!(rest.contains("**2 of 3 tasks · "), "{rest}");
    // A box that a person opened again is not done, whatever a night says.
    let list = scene.task_list().replace("[x] T002", "[ ] T002");
    scene.write("specs/001-login/tasks.md", list).commit("Not yet");
    let opened = body(&scene);
    assert!(opened.contains("**1 of 3 tasks · ") && !opened.contains("| T002 Write two"), "{opened}");
}

#[test]
fn the_branch_of_a_lane_is_sent_from_anywhere() {
    let scene = project_at("https://github.com/acme/shop.git");
    scene.git("checkout --quiet main");
    scene.call("run --lane --task T001").run().code(0);
    scene.ralph("pr --yes").code(0);
    assert_eq!(there(&scene), "refs/heads/main\nrefs/heads/ralph/001-login");
    let (calls, body) = (beside(&scene, "calls"), beside(&scene, "sent"));
    assert!(calls.contains("--head=ralph/001-login "), "{calls}");
    assert!(body.contains("git fetch origin ralph/001-login:pr/001-login\n"), "{body}");
}
