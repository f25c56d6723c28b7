//! Which file names which: no file may name another that, through whatever others, names it.
//!
//! A file names the file in which an item is defined, not those that hand it on: a `mod.rs` that re-exports its
//! children uses none of them. It uses those that its own code names.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

use super::{code, is_test, roots, sources};

#[test]
fn no_files_name_each_other_in_a_circle() {
    let mut circles = Vec::new();
    for root in roots() {
        circles.extend(Files::new(&root, sources(&root)).circles());
    }
    let lines: Vec<_> = circles.iter().map(|(_, edges)| edges.join("\n")).collect();
    assert!(lines.is_empty(), "files name each other in a circle:\n{}", lines.join("\n\n"));
}

#[test]
fn a_file_uses_those_that_define_what_it_names() {
    let of = |files: &[(&str, &str)]| {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        Files::new("src", files).circles().len()
    };
    let room = "mod a;\nmod b;\npub use a::A;\npub use b::b;\n";
    let a = ("room/a.rs", "pub struct A;\n");
    let b = ("room/b.rs", "use super::A;\npub fn b(_: A) {}\n");
    assert_eq!(of(&[("room/mod.rs", room), a, b]), 0, "only handed on");
    let uses_itself = format!("{room}fn f() {{ b(A) }}\n");
    assert_eq!(of(&[("room/mod.rs", &uses_itself), a, b]), 0, "b uses a, through mod.rs");
    let defines = "mod b;\npub struct A;\nfn f() { b::b(A) }\n";
    assert_eq!(of(&[("room/mod.rs", defines), b]), 1, "b uses what mod.rs defines, which uses b");
    let back =
        ("room/a.rs", "use crate::room::{self, b::{b as other}};\npub struct A;\nfn f() { other(A) }\n");
    assert_eq!(of(&[("room/mod.rs", room), back, b]), 1, "a and b");
    let through_the_room = ("room/a.rs", "use crate::room;\npub struct A;\nfn f() { room::b(A) }\n");
    assert_eq!(of(&[("room/mod.rs", room), through_the_room, b]), 1, "a and b, through mod.rs");
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is sound")
}

/// A module, as the path of its names below the root of the crate.
type Module = Vec<String>;

struct File {
    path: String,
    /// What follows `use`, with the name that it gets here; by `pub use` if it is handed on.
    imports: Vec<Import>,
    /// Paths in the code, such as `place::open`.
    paths: Vec<Vec<String>>,
    /// The code without its `use` lines.
    code: String,
}

struct Import {
    name: String,
    path: Vec<String>,
    is_handed_on: bool,
}

struct Files(BTreeMap<Module, File>);

impl Files {
    /// The files below `root`, each as its path and its text.
    fn new(root: &str, sources: Vec<(String, String)>) -> Self {
        let visibility = pattern(r"pub\([^)]*\)");
        let imported = pattern(r"(?m)^\s*(pub )?use ([^;]+);");
        let declared = pattern(r"(?m)^(pub )?mod \w+;");
        let named = pattern(r"\b(?:\w+::)+\w+");
        let mut found = BTreeMap::new();
        for (path, text) in sources.into_iter().filter(|(path, _)| !is_test(path)) {
            let code = visibility.replace_all(&code(&text), "pub").into_owned();
            let mut imports = Vec::new();
            for import in imported.captures_iter(&code) {
                add_imports(&import[2], &[], import.get(1).is_some(), &mut imports);
            }
            let code = declared.replace_all(&imported.replace_all(&code, ""), "").into_owned();
            let paths = named.find_iter(&code).map(|path| words(path.as_str())).collect();
            found.insert(module(&path), File { path: format!("{root}/{path}"), imports, paths, code });
        }
        Self(found)
    }

    /// The module that `path` leads to from `module`, and whether it names an item that is defined there; none if it is
    /// none of ours.
    fn definition(&self, module: &Module, path: &[String]) -> Option<(Module, bool)> {
        let mut at = module.clone();
        for (index, name) in path.iter().enumerate() {
            let child = [&at[..], std::slice::from_ref(name)].concat();
            match name.as_str() {
                "crate" => at.clear(),
                "self" => {}
                "super" => drop(at.pop()),
                _ if self.0.contains_key(&child) && !self.is_item(&at, &path[index..]) => at = child,
                _ if index == 0 => return None,
                name => {
                    return match self.0.get(&at)?.imports.iter().find(|import| import.name == *name) {
                        Some(import) => {
                            self.definition(&at, &[&import.path[..], &path[index + 1..]].concat())
                        }
                        None => Some((at, true)),
                    };
                }
            }
        }
        Some((at, false))
    }

    /// Returns true if the rest of a path is an item that `module` re-exports under the name of one of its children.
    fn is_item(&self, module: &Module, rest: &[String]) -> bool {
        let re_exports = |file: &File| file.imports.iter().any(|import| rest == [import.name.clone()]);
        self.0.get(module).is_some_and(re_exports)
    }

    /// The modules whose code the code of `module` names.
    fn named(&self, module: &Module) -> BTreeSet<Module> {
        let file = &self.0[module];
        let mut paths = file.paths.clone();
        for import in &file.imports {
            if self.definition(module, &import.path).is_some_and(|(_, is_item)| !is_item) {
                // Of a module its items are used, wherever they are defined.
                let through = file.paths.iter().filter(|path| path[0] == import.name);
                paths.extend(through.map(|path| [&import.path[..], &path[1..]].concat()));
            } else if !import.is_handed_on || has_word(&file.code, &import.name) {
                paths.push(import.path.clone());
            }
        }
        let found = paths.iter().filter_map(|path| Some(self.definition(module, path)?.0));
        found.filter(|other| other != module).collect()
    }

    /// The files of each circle, and who names whom in it.
    fn circles(&self) -> Vec<(BTreeSet<String>, Vec<String>)> {
        let edges: BTreeMap<&Module, BTreeSet<Module>> =
            self.0.keys().map(|module| (module, self.named(module))).collect();
        let reached: BTreeMap<&Module, BTreeSet<&Module>> =
            edges.keys().map(|module| (*module, reached(module, &edges))).collect();
        let is_mutual =
            |one: &Module, other: &Module| reached[one].contains(other) && reached[other].contains(one);
        let mut found: BTreeMap<BTreeSet<String>, Vec<String>> = BTreeMap::new();
        for module in self.0.keys().filter(|module| is_mutual(module, module)) {
            let circle: Vec<_> = self.0.keys().filter(|other| is_mutual(module, other)).collect();
            let path = |module: &Module| self.0[module].path.clone();
            let own = edges[module].iter().filter(|other| circle.contains(other));
            let own: Vec<_> = own.map(|other| format!("{} -> {}", path(module), path(other))).collect();
            found.entry(circle.into_iter().map(path).collect()).or_default().extend(own);
        }
        found.into_iter().collect()
    }
}

/// What can be reached from `start` in one step or more.
fn reached<'a>(start: &Module, edges: &'a BTreeMap<&Module, BTreeSet<Module>>) -> BTreeSet<&'a Module> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&Module> = edges[start].iter().collect();
    while let Some(module) = open.pop() {
        if found.insert(module) {
            open.extend(edges.get(module).into_iter().flatten());
        }
    }
    found
}

fn module(path: &str) -> Module {
    let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
    path.split('/').filter(|name| !matches!(*name, "lib" | "main")).map(str::to_owned).collect()
}

fn words(path: &str) -> Vec<String> {
    path.split("::").map(str::to_owned).collect()
}

/// Takes a tree of imports apart: `a::{b, c::{self, d as e}}`.
fn add_imports(tree: &str, before: &[String], is_handed_on: bool, found: &mut Vec<Import>) {
    let tree = tree.trim();
    if let Some((front, inner)) = tree.split_once('{') {
        let before = [before, &words(front.trim().trim_end_matches("::"))].concat();
        let inner = inner.strip_suffix('}').expect("what opens is closed");
        let mut depth = 0;
        let parts = inner.split(|c| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            c == ',' && depth == 0
        });
        parts
            .filter(|part| !part.trim().is_empty())
            .for_each(|part| add_imports(part, &before, is_handed_on, found));
        return;
    }
    let (path, alias) = tree.split_once(" as ").map_or((tree, None), |(path, alias)| (path, Some(alias)));
    let mut path = [before, &words(path)[..]].concat();
    if path.len() > 1 && path.last().is_some_and(|name| name == "self") {
        path.pop();
    }
    let name = alias.map_or_else(|| path.last().cloned().unwrap_or_default(), str::to_owned);
    found.push(Import { name, path, is_handed_on });
}

fn has_word(code: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word)
        .any(|(at, _)| !code[..at].ends_with(is_part) && !code[at + word.len()..].starts_with(is_part))
}
