//! Error messages about templates.

use std::collections::HashSet;

use minijinja::{Environment, Error, ErrorKind};
use regex::Regex;

use ralph_core::record::{Refusal, did_you_mean};

use super::context::{NAMES, TASK_PARTS};
use super::source::tags;
use super::template::{MAX_PROMPT_BYTES, MAX_STEPS, Template};

/// Returns a template that the engine refuses, or that fails while it is rendered.
pub(super) fn broken(template: &Template, error: &Error) -> Refusal {
    let what = match error.detail() {
        _ if error.kind() == ErrorKind::OutOfFuel => format!("it takes more than {MAX_STEPS} steps"),
        _ if error.kind() == ErrorKind::WriteFailure => {
            format!("the prompt is larger than {} MiB", MAX_PROMPT_BYTES >> 20)
        }
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    };
    let is_comment = error.kind() == ErrorKind::SyntaxError && what.contains("comment");
    // The engine names the end of the file, where it looked for the end of the comment.
    let opening = template.source.rfind("{#").filter(|_| is_comment);
    let line = match opening {
        Some(opening) => template.source[..opening].matches('\n').count() + 1,
        None => error.line().unwrap_or(1),
    };
    let refusal = Refusal::new(format!("{}:{line}: {what}", template.origin));
    if error.kind() != ErrorKind::SyntaxError {
        return refusal;
    }
    if is_handlebars(&template.source) {
        return refusal
            .with_hint("this is Handlebars; write `{% if progress %}` ... `{% endif %}` (see minijinja)");
    }
    if is_comment {
        return refusal.with_hint("`{#` opens a comment; write `{{ '{#' }}` for the characters");
    }
    refusal.with_hint("templates are written as for Jinja: `{{ name }}`, `{% if name %}` ... `{% endif %}`")
}

fn is_handlebars(source: &str) -> bool {
    let signs = ["#", "/", "^", ">", "{"];
    tags(source).iter().any(|(_, tag)| {
        let inside = tag.strip_prefix("{{").map(str::trim_start);
        inside.is_some_and(|inside| {
            signs.iter().any(|sign| inside.starts_with(sign)) || inside.trim_end_matches('}').trim() == "else"
        })
    })
}

/// Returns the first undefined name, in the order of lines.
pub(super) fn unknown_name(
    template: &Template,
    undeclared: &HashSet<String>,
    environment: &Environment<'_>,
) -> Option<Refusal> {
    let tags = tags(&template.source);
    let mut unknown: Vec<((usize, usize), &str)> = undeclared
        .iter()
        .filter(|name| !is_known(name, environment))
        .filter(|name| !tags.iter().any(|(_, tag)| is_guarded(tag, name)))
        .map(|name| (place_of(name, &tags), name.as_str()))
        .collect();
    unknown.sort_unstable();
    let ((line, _), name) = *unknown.first()?;
    if let Some(hyphenated) = hyphenated(name, line, &tags) {
        let refusal = Refusal::new(format!("{}:{line}: unknown name `{hyphenated}`", template.origin));
        return Some(
            refusal.with_hint(format!("names have no hyphens: write `{}`", hyphenated.replace('-', "_"))),
        );
    }
    let refusal = Refusal::new(format!("{}:{line}: unknown name `{name}`", template.origin));
    let parts: Vec<String> = TASK_PARTS.iter().map(|part| format!("current_task.{part}")).collect();
    let known = NAMES.iter().copied().chain(parts.iter().map(String::as_str));
    Some(match did_you_mean(name, known) {
        Some(known) => refusal.with_hint(format!("did you mean `{known}`?")),
        None => refusal.with_hint(format!("known names: {}", NAMES.join(", "))),
    })
}

fn is_known(name: &str, environment: &Environment<'_>) -> bool {
    let (root, part) = name.split_once('.').unwrap_or((name, ""));
    match root {
        "current_task" => part.is_empty() || TASK_PARTS.contains(&part),
        _ => NAMES.contains(&root) || environment.globals().any(|(global, _)| global == root),
    }
}

/// Returns true if the template itself asks if the name is there.
fn is_guarded(tag: &str, name: &str) -> bool {
    let name = regex::escape(name);
    let guard = Regex::new(&format!(
        r"(?:^|[^\w.]){name}\s*(?:\|\s*(?:default|d)\b|\bis\s+(?:not\s+)?(?:un)?defined\b)"
    ));
    guard.is_ok_and(|guard| guard.is_match(tag))
}

/// Returns the line, and how many bytes of tags are before it.
fn place_of(name: &str, tags: &[(usize, &str)]) -> (usize, usize) {
    let Ok(word) = Regex::new(&format!(r"(?:^|[^\w.]){}(?:\W|$)", regex::escape(name))) else {
        return (1, 0);
    };
    let mut before = 0;
    for (line, tag) in tags {
        if let Some(found) = word.find(tag) {
            return (line + tag[..found.start()].matches('\n').count(), before + found.start());
        }
        before += tag.len();
    }
    (1, 0)
}

/// `phase-number`, where the engine saw a `phase` from which a `number` is to be subtracted.
fn hyphenated(name: &str, line: usize, tags: &[(usize, &str)]) -> Option<String> {
    let word =
        Regex::new(&format!(r"(?:^|\W)((?:\w+-)*{0}(?:-\w+)+|(?:\w+-)+{0}(?:-\w+)*)", regex::escape(name)));
    let word = word.ok()?;
    let mut near =
        tags.iter().filter(|(start, tag)| (*start..=start + tag.matches('\n').count()).contains(&line));
    near.find_map(|(_, tag)| word.captures(tag)).map(|found| found[1].to_owned())
}
