//! A prompt template, and where it comes from.

use anyhow::Result;
use camino::Utf8Path;
use ralph_templates::{PLAN_PROMPT, PROMPT, SPEC_PROMPT};

use crate::project_files::{MAX_SETTINGS_BYTES, ProjectFiles, Refused, refused};
use ralph_core::record::Refusal;
use ralph_os::if_there::IfThere;

/// Where a project keeps its own template, from its root.
pub const PROJECT_TEMPLATE: &str = ".specify/templates/ralph-prompt.md";

/// Beyond all that an agent could read.
pub(super) const MAX_PROMPT_BYTES: usize = 64 << 20;

/// Instructions of the template engine for one prompt; the built-in templates need a few hundred.
pub(super) const MAX_STEPS: u64 = 1_000_000;

/// A prompt template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pub source: String,
    /// Names it in messages.
    pub origin: String,
    pub is_built_in: bool,
}

impl Template {
    pub fn built_in() -> Self {
        Self { source: PROMPT.to_owned(), origin: "the built-in template".to_owned(), is_built_in: true }
    }

    /// The project's template, else the built-in one.
    pub fn find(files: &ProjectFiles, root: &Utf8Path) -> Result<Self> {
        Ok(Self::read(files, root, PROJECT_TEMPLATE)?.unwrap_or_else(Self::built_in))
    }

    /// Returns the template of a type of loop: the file that is named for it, from the root, else the project's own for
    /// that type, else the built-in one; `None` if there is no such type.
    pub fn of_loop(
        files: &ProjectFiles,
        root: &Utf8Path,
        loop_type: &str,
        named: Option<&str>,
    ) -> Result<Option<Self>> {
        if let Some(path) = named {
            return Ok(Some(Self::read(files, root, path)?.ok_or_else(|| {
                Refusal::new(format!("there is no template {}", root.join(path)))
                    .with_hint(format!("correct `template` in [loop.{loop_type}]; it is a path from {root}"))
            })?));
        }
        if let Some(own) = Self::read(files, root, &format!(".specify/templates/ralph-{loop_type}.md"))? {
            return Ok(Some(own));
        }
        let built_in = match loop_type {
            "implement" => return Self::find(files, root).map(Some),
            "plan" => PLAN_PROMPT,
            "spec" => SPEC_PROMPT,
            _ => return Ok(None),
        };
        let origin = format!("the built-in template for `{loop_type}`");
        Ok(Some(Self { source: built_in.to_owned(), origin, is_built_in: true }))
    }

    fn read(files: &ProjectFiles, root: &Utf8Path, path: &str) -> Result<Option<Self>> {
        let file = root.join(path);
        match files.read(&file, MAX_SETTINGS_BYTES).if_there() {
            Ok(bytes) => bytes.map(|bytes| Self::from_bytes(path, bytes)).transpose(),
            Err(error) => {
                let hint = refused(&error).and_then(Refused::hint);
                let hint = hint.unwrap_or_else(|| {
                    "correct or remove it; without it the built-in template is used".to_owned()
                });
                Err(Refusal::new(format!("read {file}: {error}")).with_hint(hint).into())
            }
        }
    }

    /// A template from a file; a byte order mark is not part of it.
    pub fn from_bytes(origin: &str, bytes: Vec<u8>) -> Result<Self> {
        let source = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            Refusal::new(format!("{origin}: not UTF-8 at byte {at}")).with_hint("save the file as UTF-8")
        })?;
        let source = source.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(source);
        Ok(Self { source, origin: origin.to_owned(), is_built_in: false })
    }
}
