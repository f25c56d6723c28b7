//! Records that this version cannot read.

#![expect(clippy::unwrap_used, reason = "what cannot be set up or read has failed the scene")]

use std::fs;

use crate::sandbox::Sandbox;

/// A change of a file of a record: other bytes, or none.
pub type File<'a> = (&'a str, Option<&'a [u8]>);

/// Replaces files of one record and words of its message, and puts what came after it on top of that.
pub fn rewrite(scene: &Sandbox, commit: &str, files: &[File<'_>], words: &[(&str, &str)]) {
    let refs = scene.git("for-each-ref --format=%(refname) refs/ralph/");
    let holds = |name: &&str| scene.git(["rev-list", name]).lines().any(|line| line == commit);
    let name = refs.lines().find(holds).unwrap().to_owned();
    let mut parent: Option<(String, String)> = None;
    for old in scene.git(["rev-list", "--reverse", &name]).lines() {
        let mut bytes = scene.git_bytes(["cat-file", "commit", old]);
        if old == commit {
            let tree = scene.git(["rev-parse", &format!("{old}^{{tree}}")]);
            bytes = replaced(&bytes, &tree, &changed_tree(scene, &tree, files));
            for (from, to) in words {
                bytes = replaced(&bytes, from, to);
            }
        }
        if let Some((from, to)) = &parent {
            bytes = replaced(&bytes, from, to);
        }
        parent = Some((old.to_owned(), object(scene, "commit", &bytes)));
    }
    scene.git(["update-ref", &name, &parent.unwrap().1]);
}

fn replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let at = bytes.windows(from.len()).position(|window| window == from.as_bytes());
    let at = at.unwrap_or_else(|| panic!("`{from}` is not in {}", String::from_utf8_lossy(bytes)));
    [&bytes[..at], to.as_bytes(), &bytes[at + from.len()..]].concat()
}

fn object(scene: &Sandbox, kind: &str, bytes: &[u8]) -> String {
    let draft = scene.outside("tmp/object");
    fs::write(&draft, bytes).unwrap();
    scene.git(["hash-object", "-t", kind, "-w", "--literally", "--no-filters", draft.to_str().unwrap()])
}

fn changed_tree(scene: &Sandbox, tree: &str, files: &[File<'_>]) -> String {
    let index = scene.outside("tmp/index");
    let git = |words: &[&str]| {
        let output = scene.hermetic("git").env("GIT_INDEX_FILE", &index).args(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    git(&["read-tree", tree]);
    for (path, bytes) in files {
        match bytes {
            Some(bytes) => {
                let blob = object(scene, "blob", bytes);
                git(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},{path}")]);
            }
            None => drop(git(&["update-index", "--force-remove", path])),
        }
    }
    git(&["write-tree"])
}
