//! The folders that links may lead to, as the user's own git configuration names them.

use anyhow::Result;
use camino::Utf8PathBuf;

use ralph_core::record::Refusal;

/// Reads the values of `ralph.allowLinks` in git's order: absolute folders, or some below `~/`. An empty value drops
/// those before it, as git's own lists do.
pub fn allowed_folders<'a>(
    values: impl IntoIterator<Item = &'a str>,
    home: Option<&str>,
) -> Result<Vec<Utf8PathBuf>> {
    let mut folders = Vec::new();
    for value in values {
        if value.is_empty() {
            folders.clear();
            continue;
        }
        let folder = match (value.strip_prefix("~/"), home) {
            (Some(inner), Some(home)) => Utf8PathBuf::from(home).join(inner),
            _ => Utf8PathBuf::from(value),
        };
        if !folder.is_absolute() {
            return Err(Refusal::new(format!(
                "git config ralph.allowLinks: `{value}` is not an absolute path"
            ))
            .with_hint("name the folder that links may lead to, like /home/me/specs or ~/specs")
            .into());
        }
        folders.push(folder);
    }
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_absolute_or_below_the_home_folder() {
        let read = |values: &[&str]| allowed_folders(values.iter().copied(), Some("/home/me"));
        assert_eq!(read(&["/a", "~/b"]).unwrap(), ["/a", "/home/me/b"]);
        assert_eq!(read(&["/a", "", "/c"]).unwrap(), ["/c"]);
        for wrong in ["specs", "../specs", "~other/specs", "true"] {
            let error = read(&[wrong]).unwrap_err().to_string();
            assert!(error.contains(wrong) && error.contains("\nhint: "), "{error}");
        }
        assert!(allowed_folders(["~/b"], None).is_err());
    }
}
