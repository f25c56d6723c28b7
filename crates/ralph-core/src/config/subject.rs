//! The subject of the loop's commits, by a template of the user's: `feat({{ feature }}): {{ task }} {{ text }}`.

use minijinja::{Environment, UndefinedBehavior, context};

/// The names that a template can use.
const NAMES: [&str; 5] = ["feature", "task", "text", "phase", "story"];

/// What may go on in a template, in steps of its engine: it can arrive with a clone.
const MAX_STEPS: u64 = 10_000;

/// What a commit is about. All but `text` may be empty.
#[derive(Debug, Clone, Copy, Default)]
pub struct SubjectParts<'a> {
    /// The name of the feature: `001-login`.
    pub feature: &'a str,
    /// The id of the task.
    pub task: &'a str,
    /// What the task asks for, or the name of the story or phase that one commit has.
    pub text: &'a str,
    pub phase: &'a str,
    pub story: &'a str,
}

/// Returns the subject by a template, on one line.
///
/// # Errors
///
/// In one line, why the template gives none.
pub fn commit_subject(template: &str, parts: &SubjectParts<'_>) -> Result<String, String> {
    let words = |error: minijinja::Error| match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    };
    let mut environment = Environment::new();
    environment.set_fuel(Some(MAX_STEPS));
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let compiled = environment.template_from_str(template).map_err(words)?;
    // Rendering meets only the names of the branch that it takes.
    let mut unknown: Vec<String> = compiled.undeclared_variables(false).into_iter().collect();
    unknown.retain(|name| {
        !NAMES.contains(&name.as_str()) && !environment.globals().any(|(known, _)| known == name)
    });
    unknown.sort_unstable();
    if let Some(name) = unknown.first() {
        return Err(format!("unknown name `{name}`; known names: {}", NAMES.join(", ")));
    }
    let SubjectParts { feature, task, text, phase, story } = *parts;
    let subject = compiled.render(context! { feature, task, text, phase, story }).map_err(words)?;
    let subject = subject.split_whitespace().collect::<Vec<_>>().join(" ");
    if subject.is_empty() { Err("it gives an empty subject".to_owned()) } else { Ok(subject) }
}

/// Returns why a text is no template for subjects, in one line; `None` if it is one.
pub(super) fn subject_error(template: &str) -> Option<String> {
    let parts = SubjectParts { feature: "f", task: "t", text: "t", phase: "p", story: "s" };
    commit_subject(template, &parts).err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_on_one_line_and_has_what_the_template_names() {
        let parts = SubjectParts {
            feature: "001-login",
            task: "T001",
            text: "Write `{{ one }}` & two",
            phase: "Phase 1: Setup",
            story: "",
        };
        let no_id = SubjectParts { task: "", ..parts };
        for (template, parts, expected) in [
            (
                "feat({{ feature }}): {{ task }} {{ text }}",
                parts,
                "feat(001-login): T001 Write `{{ one }}` & two",
            ),
            ("feat({{ feature }}): {{ task }} {{ text }}", no_id, "feat(001-login): Write `{{ one }}` & two"),
            ("chore:\n {{ text | lower }}\n", parts, "chore: write `{{ one }}` & two"),
            ("{% if story %}feat({{ story }}){% else %}chore{% endif %}: {{ task }}", parts, "chore: T001"),
            ("{{ phase }}: {{ task }}", parts, "Phase 1: Setup: T001"),
        ] {
            assert_eq!(commit_subject(template, &parts).as_deref(), Ok(expected), "{template}");
        }
    }

    #[test]
    fn a_template_that_gives_no_subject_says_why() {
        for (template, expected) in [
            ("feat: {{ task }}", None),
            ("{{ tsk }}", Some("unknown name `tsk`; known names: feature, task, text, phase, story")),
            ("x{% if story == 'no' %}{{ title }}{% endif %}", Some("unknown name `title`")),
            ("feat: {{ task", Some("syntax error: ")),
            ("feat: {{ task | shout }}", Some("unknown filter: ")),
            ("{% for i in range(9999) %}{% for j in range(9999) %}x{% endfor %}{% endfor %}", Some("")),
            ("{# nothing #}", Some("it gives an empty subject")),
        ] {
            let error = subject_error(template);
            let is_expected = match (&error, expected) {
                (Some(error), Some(expected)) => error.starts_with(expected),
                (error, expected) => error.is_none() && expected.is_none(),
            };
            assert!(is_expected, "{template}: {error:?}");
        }
    }
}
