//! Makes a prompt of a template.

use std::io::{self, ErrorKind, Write};

use anyhow::{Context, Result};
use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};

use super::context::PromptContext;
use super::fence::fence;
use super::memory::{MEMORY, missing, unplaced};
use super::template::{MAX_PROMPT_BYTES, MAX_STEPS, Template};
use super::{complaint, source};

impl Template {
    /// Refuses a template that is broken or uses an undefined name, in any branch.
    pub fn check(&self) -> Result<()> {
        self.render(&PromptContext::default()).map(drop)
    }

    /// Returns the prompt. Inserted values are never read as a template.
    pub fn render(&self, context: &PromptContext) -> Result<String> {
        let source = source::with_plain_names(&self.source);
        let environment = environment()?;
        let template = environment
            .template_from_named_str(&self.origin, &source)
            .map_err(|error| complaint::broken(self, &error))?;
        let undeclared = template.undeclared_variables(true);
        if let Some(refusal) = complaint::unknown_name(self, &undeclared, &environment) {
            return Err(refusal.into());
        }
        let memory = unplaced(context, &undeclared);
        let mut prompt = Bounded(Vec::new());
        template
            .render_captured_to(context.values(&memory), &mut prompt)
            .map_err(|error| complaint::broken(self, &error))?;
        let mut prompt = String::from_utf8(prompt.0).context("read the prompt")?;
        if !undeclared.contains(MEMORY) && !memory.is_empty() {
            let gap = if prompt.ends_with('\n') || prompt.is_empty() { "" } else { "\n" };
            prompt = format!("{prompt}{gap}{memory}");
        }
        Ok(prompt)
    }

    /// Returns what the user should know of a template of theirs: parts that it has no place for, and names that are
    /// none.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let missing = self.missing();
        if !missing.is_empty() {
            let names: Vec<String> = missing.iter().map(|name| format!("{{{{ {name} }}}}")).collect();
            let names = names.join(", ");
            warnings.push(format!(
                "{} has no place for {names}: appended at the end of each prompt",
                self.origin
            ));
        }
        let unknown = source::unknown_plain_names(&self.source);
        if !unknown.is_empty() {
            warnings.push(format!(
                "{}: {} stays as it is written; the names in single braces are {}",
                self.origin,
                unknown.join(", "),
                source::plain_names().join(", ")
            ));
        }
        warnings
    }

    /// Returns the names of hints, progress and history that a template of the user's does not use.
    pub fn missing(&self) -> Vec<&'static str> {
        if self.is_built_in {
            return Vec::new();
        }
        let source = source::with_plain_names(&self.source);
        let used = environment().ok().and_then(|environment| {
            let template = environment.template_from_named_str(&self.origin, &source).ok()?;
            Some(template.undeclared_variables(true))
        });
        used.map(|used| missing(&used)).unwrap_or_default()
    }
}

/// Collects a prompt, and fails where it grows beyond all use.
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_PROMPT_BYTES {
            return Err(ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn environment() -> Result<Environment<'static>> {
    let mut environment = Environment::new();
    environment.set_fuel(Some(MAX_STEPS));
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    let syntax = SyntaxConfig::builder().keep_trailing_newline(true).build().context("set up templates")?;
    environment.set_syntax(syntax);
    environment.add_filter("fence", |text: String| fence(&text));
    Ok(environment)
}

#[cfg(test)]
mod tests {
    use camino::Utf8Path;
    use proptest::prelude::*;

    use crate::project_files::ProjectFiles;
    use ralph_core::record::{Refusal, Task, TaskCounts};

    use super::super::context::NAMES;
    use super::super::template::PROJECT_TEMPLATE;
    use super::*;

    fn template(source: &str) -> Template {
        Template { source: source.to_owned(), origin: "t.md".to_owned(), is_built_in: false }
    }

    fn context() -> PromptContext {
        PromptContext {
            feature_name: "001-login".to_owned(),
            feature_dir: "specs/001-login".to_owned(),
            spec_path: "specs/001-login/spec.md".to_owned(),
            tasks_path: "specs/001-login/tasks.md".to_owned(),
            progress_path: "specs/001-login/progress.txt".to_owned(),
            current_task: Some(Task {
                name: "T004#2".to_owned(),
                id: Some("T004".to_owned()),
                text: "Parse <tokens> & {{ tasks_path }}".to_owned(),
                phase: Some("Phase 2: Core".to_owned()),
                story: Some("US1".to_owned()),
            }),
            iteration_number: 3,
            max_iterations: 10,
            tasks: TaskCounts { done: 1, open: 2 },
            validation_command: Some("cargo test".to_owned()),
            repeat_count: 1,
            ..PromptContext::default()
        }
    }

    #[track_caller]
    fn renders(source: &str, expected: &str) {
        assert_eq!(template(source).render(&context()).unwrap(), expected);
    }

    #[track_caller]
    fn refused(source: &str, expected: &str) {
        let error = template(source).check().unwrap_err();
        assert!(error.downcast_ref::<Refusal>().is_some(), "{error:#}");
        assert_eq!(format!("{error:#}"), expected);
    }

    #[test]
    fn a_template_can_go_through_the_progress() {
        let entry = |json: &str| serde_json::from_str(json).unwrap();
        let context = PromptContext {
            progress: "## Iteration 1\n".to_owned(),
            progress_entries: vec![
                entry(
                    r#"{"iteration": 1, "task": "T001", "cause": "no table", "files_changed": ["a", "b"]}"#,
                ),
                entry(r#"{"iteration": 2, "task": "T001", "cause": null, "files_changed": []}"#),
            ],
            ..context()
        };
        for (source, expected) in [
            (
                "{% for e in progress %}{{ e.iteration }}: {{ e.cause }} {{ e.files_changed | join('+') }};{% endfor %}",
                "1: no table a+b;2: None ;",
            ),
            ("{{ progress | trim }}{% if progress %}!{% endif %}", "## Iteration 1!"),
            ("{{ progress }}", "## Iteration 1\n"),
        ] {
            assert_eq!(template(source).render(&context).unwrap(), expected);
        }
        renders("{% if progress %}some{% else %}none{% endif %}{{ progress }}", "none");
    }

    #[test]
    fn the_current_task_prints_itself_and_has_parts() {
        renders("{{ current_task }}\n", "T004 Parse <tokens> & {{ tasks_path }}\n");
        renders(
            "{{ current_task.id }}|{{ current_task.phase }}|{{ current_task.story }}",
            "T004|Phase 2: Core|US1",
        );
        renders("{{ phase_number }} {{ phase_name }}", "2 Core");
        renders("{% if current_task %}yes{% endif %}", "yes");
        let none = PromptContext::default();
        let source = "[{{ current_task }}{{ current_task.id }}{% if current_task %}yes{% endif %}]";
        assert_eq!(template(source).render(&none).unwrap(), "[]");
    }

    #[test]
    fn the_six_names_in_capitals_are_replaced_in_the_template_alone() {
        renders(
            "{FEATURE_NAME} {SPEC_PATH} {TASKS_PATH} {PROGRESS_PATH} {ITERATION_NUMBER}\n",
            "001-login specs/001-login/spec.md specs/001-login/tasks.md specs/001-login/progress.txt 3\n",
        );
        renders("{CURRENT_TASK}", "T004 Parse <tokens> & {{ tasks_path }}");
        renders("{OTHER} #{ITERATION_NUMBER} {{ '{SPEC_PATH}' }}", "{OTHER} #3 {SPEC_PATH}");
        renders("{% raw %}{SPEC_PATH} {{ x }}{% endraw %}", "{SPEC_PATH} {{ x }}");
        let tricky =
            PromptContext { progress: "{SPEC_PATH} {{ feature_name }} {% raw %}".into(), ..context() };
        assert_eq!(
            template("{{ progress }}").render(&tricky).unwrap(),
            "{SPEC_PATH} {{ feature_name }} {% raw %}"
        );
    }

    #[test]
    fn every_documented_name_is_defined_with_nothing_in_it() {
        for name in NAMES {
            template(&format!("{{{{ {name} }}}}")).check().unwrap();
        }
        renders("{{ HISTORICAL_CONTEXT }}{% if HISTORY_ENABLED %}on{% endif %}", "");
    }

    #[test]
    fn hints_print_as_a_list_and_can_be_gone_through() {
        let hints = PromptContext { hints: vec!["use the cache".into(), "two\nlines".into()], ..context() };
        assert_eq!(template("{{ hints }}").render(&hints).unwrap(), "- use the cache\n- two\n  lines");
        let source = "{% for hint in hints %}{{ hint }};{% endfor %}";
        assert_eq!(template(source).render(&hints).unwrap(), "use the cache;two\nlines;");
        renders("{% if hints %}some{% endif %}", "");
    }

    #[test]
    fn an_unknown_name_is_refused_with_its_line_in_whatever_branch() {
        refused(
            "one\n{% if false %}\n{{ feature_name }}{{ featur_name }}{% endif %}",
            "t.md:3: unknown name `featur_name`\nhint: did you mean `feature_name`?",
        );
        refused(
            "\n{{FEATURE_NAME}}",
            "t.md:2: unknown name `FEATURE_NAME`\nhint: did you mean `feature_name`?",
        );
        refused(
            "{{ current_task.txt }}",
            "t.md:1: unknown name `current_task.txt`\nhint: did you mean `current_task.text`?",
        );
        let error = template("{{ zebra }}").check().unwrap_err();
        assert!(format!("{error:#}").contains("hint: known names: feature_name, "), "{error:#}");
        renders(
            "{{ zebra | default('-') }}{% if zebra is defined %}!{% endif %}{% for i in range(2) %}{{ i }}{% endfor %}",
            "-01",
        );
    }

    #[test]
    fn other_template_languages_get_a_hint() {
        let handlebars =
            "hint: this is Handlebars; write `{% if progress %}` ... `{% endif %}` (see minijinja)";
        for source in ["{{#if progress}}\n{{progress}}\n{{/if}}", "{{> part}}", "{{{progress}}}"] {
            let error = template(source).check().unwrap_err();
            assert!(format!("{error:#}").ends_with(handlebars), "{source}: {error:#}");
        }
        refused(
            "Phase\n{{phase-number}}: {{phase-name}}",
            "t.md:2: unknown name `phase-number`\nhint: names have no hyphens: write `phase_number`",
        );
        let error = template("a\n## Title {#anchor}\n").check().unwrap_err();
        let text = format!("{error:#}");
        assert!(text.starts_with("t.md:2: "), "{text}");
        assert!(
            text.ends_with("hint: `{#` opens a comment; write `{{ '{#' }}` for the characters"),
            "{text}"
        );
    }

    #[test]
    fn a_template_that_never_ends_or_grows_without_bound_is_refused() {
        refused(
            "{% for i in range(9999) %}{% for j in range(9999) %}{% endfor %}{% endfor %}",
            "t.md:1: it takes more than 1000000 steps",
        );
        refused(
            "{% set line = 'x' * 9000 %}{% for i in range(9000) %}{{ line }}{% endfor %}",
            "t.md:1: the prompt is larger than 64 MiB",
        );
    }

    #[test]
    fn a_broken_template_is_refused_with_its_line() {
        let error = template("one\n\n{% if %}\n").check().unwrap_err();
        assert!(format!("{error:#}").starts_with("t.md:3: syntax error: "), "{error:#}");
    }

    #[test]
    fn the_built_in_template_says_what_it_must() {
        let built_in = Template::built_in();
        let prompt = built_in.render(&context()).unwrap();
        for part in
            ["# 001-login: T004 Parse <tokens>", "cargo test", "`[ ]` becomes `[x]`", "Codebase Patterns"]
        {
            assert!(prompt.contains(part), "{part}\n{prompt}");
        }
        assert!(prompt.ends_with("alone on the last line.\n"), "{prompt}");
        assert!(prompt.contains("\n   ```\n   cargo test\n   ```\n"), "{prompt}");
        assert!(!prompt.contains("Previous iterations") && !prompt.contains("attempt number"), "{prompt}");
        assert!(!prompt.contains("\n\n\n"), "{prompt}");
        assert!(prompt.contains("## Where things are\n\n- Tasks: `specs"), "{prompt}");
        assert!(prompt.contains("Tasks done: 1, open: 2.") && !prompt.contains("in line"), "{prompt}");
        assert!(prompt.contains("The validation runs again after you have ended."), "{prompt}");
        let whole = PromptContext {
            has_spec: true,
            has_plan: true,
            task_line: Some(7),
            documents: vec![".specify/memory/constitution.md".to_owned()],
            ..context()
        };
        let prompt = built_in.render(&whole).unwrap();
        for part in [
            "## Where things are\n\n- Specification: `specs/001-login/spec.md`\n- Plan: `",
            "tasks.md`\n- `.specify/memory/constitution.md`\n- Progress log: `",
            "{{ tasks_path }}**\n\nThere are others like it. Its box is in line 7 of the task list.\n\nIt belongs",
        ] {
            assert!(prompt.contains(part), "{part}\n{prompt}");
        }
        let later = PromptContext {
            progress: "## Iteration 2\n".to_owned(),
            repeat_count: 2,
            hints: vec!["use the cache".to_owned()],
            validation_command: None,
            ..context()
        };
        let prompt = built_in.render(&later).unwrap();
        for part in [
            "Do NOT repeat approaches that already failed",
            "## Iteration 2",
            "attempt number 2",
            "- use the cache",
            "Nothing checks your work",
        ] {
            assert!(prompt.contains(part), "{part}\n{prompt}");
        }
        assert!(!prompt.contains("The validation runs"), "{prompt}");
        assert!(!prompt.contains("\n\n\n"), "{prompt}");
    }

    #[test]
    fn all_tasks_of_a_unit_are_asked_for() {
        let unit = PromptContext {
            unit_name: "US1".to_owned(),
            unit_tasks: vec!["T004 Parse".to_owned(), "T005 Print".to_owned()],
            repeat_count: 2,
            ..context()
        };
        let prompt = Template::built_in().render(&unit).unwrap();
        for part in [
            "# 001-login: US1\n",
            "## Your task\n\nDo these tasks, which belong together (US1), in this order",
            "\n\n- T004 Parse\n- T005 Print\n\nIf you cannot",
            "with the rest.\n\nThis is attempt number 2 at the first of these tasks.",
            "1. Work on these tasks only.",
            "tick the box of each of these tasks that is done in `",
        ] {
            assert!(prompt.contains(part), "{part}\n{prompt}");
        }
        assert!(!prompt.contains("this one task") && !prompt.contains("\n\n\n"), "{prompt}");
        let own = template("Do {{ current_task.id }}.\n").render(&unit).unwrap();
        assert!(own.starts_with("Do T004.\n\n## All tasks of this iteration\n\nThey belong"), "{own}");
        assert!(own.ends_with("\n\n- T004 Parse\n- T005 Print\n"), "{own}");
    }

    #[test]
    fn what_a_template_has_no_place_for_is_appended_and_said() {
        let own = template("Do {{ current_task.id }}. {{ hints }}\n{{ progress | length }}");
        let context = PromptContext {
            hints: vec!["use the cache".to_owned()],
            progress: "## Iteration 2\n".to_owned(),
            last_attempt: "Iteration 2 failed: no cache\n".to_owned(),
            learnings: vec!["tabs".to_owned(), "two\nlines".to_owned()],
            historical_context: "### Insights\n".to_owned(),
            history_enabled: true,
            ..context()
        };
        let prompt = own.render(&context).unwrap();
        assert!(prompt.starts_with("Do T004. - use the cache\n0\n\n## The last attempt"), "{prompt}");
        assert!(
            prompt.contains("\n\nIteration 2 failed: no cache\n\n## What earlier iterations learned\n"),
            "{prompt}"
        );
        assert!(prompt.contains("\n\n- tabs\n- two\n  lines\n\n## Historical context\n"), "{prompt}");
        assert!(prompt.ends_with("\n\n### Insights\n") && !prompt.contains("## Hints"), "{prompt}");
        assert_eq!(
            own.warnings(),
            ["t.md has no place for {{ historical_context }}: appended at the end of each prompt"]
        );
        assert_eq!(Template::built_in().warnings(), [""; 0]);
        let upper = template(
            "{HINT} {CURRENT_TASK} {x} {{ hints }}{{ progress }}{{ HISTORICAL_CONTEXT }} {A} {HINT}",
        );
        assert_eq!(
            upper.warnings(),
            [
                "t.md: {HINT} stays as it is written; the names in single braces are {FEATURE_NAME}, {SPEC_PATH}, \
              {TASKS_PATH}, {PROGRESS_PATH}, {CURRENT_TASK}, {ITERATION_NUMBER}"
            ]
        );
    }

    #[test]
    fn the_built_in_templates_of_artifacts_say_what_they_must() {
        let root = Utf8Path::new("/nowhere");
        let files = ProjectFiles::new(root, &[], &[]);
        for loop_type in ["plan", "spec"] {
            let built_in = Template::of_loop(&files, root, loop_type, None).unwrap().unwrap();
            let artifact_path = format!("specs/001-login/{loop_type}.md");
            let first = PromptContext { artifact_path: artifact_path.clone(), ..context() };
            let prompt = built_in.render(&first).unwrap();
            for part in
                [artifact_path.as_str(), "\n   ```\n   cargo test\n   ```\n", "Codebase Patterns", "`Tried:`"]
            {
                assert!(prompt.contains(part), "{part}\n{prompt}");
            }
            assert!(!prompt.contains("Previous iterations") && !prompt.contains("\n\n\n"), "{prompt}");
            let later = PromptContext {
                progress: "## Iteration 2\n".to_owned(),
                hints: vec!["use the cache".to_owned()],
                ..first
            };
            let prompt = built_in.render(&later).unwrap();
            for part in
                ["Do NOT repeat", "do not let this list constrain you", "## Iteration 2", "- use the cache"]
            {
                assert!(prompt.contains(part), "{part}\n{prompt}");
            }
        }
        assert_eq!(Template::of_loop(&files, root, "implement", None).unwrap(), Some(Template::built_in()));
        assert_eq!(Template::of_loop(&files, root, "other", None).unwrap(), None);
    }

    /// An agent may print its prompt: that must neither claim that all is done nor report learnings.
    #[test]
    fn the_built_in_template_claims_nothing_when_it_is_echoed() {
        let prompt = Template::built_in().render(&context()).unwrap();
        for line in prompt.lines() {
            assert_ne!(line.trim(), "<promise>COMPLETE</promise>");
            assert!(!line.trim().trim_matches('*').ends_with("Learnings:"), "{line}");
        }
    }

    #[test]
    fn a_project_has_its_own_template_or_the_built_in_one() {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(folder.path()).unwrap();
        let files = ProjectFiles::new(root, &[], &[]);
        assert_eq!(Template::find(&files, root).unwrap(), Template::built_in());
        std::fs::create_dir_all(root.join(".specify/templates")).unwrap();
        std::fs::write(root.join(PROJECT_TEMPLATE), "\u{feff}mine\n").unwrap();
        assert_eq!(Template::find(&files, root).unwrap().source, "mine\n");
        std::fs::write(root.join(PROJECT_TEMPLATE), b"mine\xff").unwrap();
        let error = Template::find(&files, root).unwrap_err();
        assert_eq!(
            format!("{error:#}"),
            ".specify/templates/ralph-prompt.md: not UTF-8 at byte 4\nhint: save the file as UTF-8"
        );
        std::fs::remove_file(root.join(PROJECT_TEMPLATE)).unwrap();
        std::fs::create_dir(root.join(PROJECT_TEMPLATE)).unwrap();
        assert!(Template::find(&files, root).unwrap_err().downcast_ref::<Refusal>().is_some());
    }

    proptest! {
        #[test]
        fn any_template_is_rendered_or_refused(source in "(\\{\\{|\\}\\}|\\{%|%\\}|\\{#|#\\}|\\{SPEC_PATH\\}| if | raw |endraw|end|progress|-|é|\n|\\PC){0,20}") {
            if let Err(error) = template(&source).render(&context()) {
                prop_assert!(error.downcast_ref::<Refusal>().is_some(), "{:#}", error);
            }
        }

        #[test]
        fn inserted_text_comes_out_as_it_went_in(progress: String) {
            let context = PromptContext { progress: progress.clone(), ..context() };
            prop_assert_eq!(template("{{ progress }}").render(&context).unwrap(), progress);
        }
    }
}
