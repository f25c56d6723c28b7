//! Whether a task asks for files that hold nothing, or for modes: else these are no work. Pure.

/// Words of a task that asks for folders, packages and what else is there before it holds anything.
const STRUCTURES: &[&str] = &[
    "structure",
    "scaffold",
    "skeleton",
    "layout",
    "folder",
    "directory",
    "directories",
    "package",
    "placeholder",
    "empty",
    "touch",
    "executable",
    "chmod",
    "permission",
    "struktur",
    "ordner",
    "verzeichnis",
    "estructura",
    "estrutura",
    "carpeta",
    "pasta",
    "dossier",
    "répertoire",
    "структур",
    "папк",
    "каталог",
    "结构",
    "結構",
    "目录",
    "目錄",
    "構造",
    "構成",
    "ディレクトリ",
    "フォルダ",
    "구조",
    "폴더",
    "디렉",
];

/// Returns true if one of the tasks names the file or a folder that it is in, or asks for folders, packages or modes.
pub fn asks_for_bare_file(texts: &[&str], path: &str) -> bool {
    let path = path.to_lowercase();
    let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
    let places: Vec<&str> = ends.map(|end| &path[..end]).collect();
    texts.iter().any(|text| {
        let text = text.to_lowercase();
        let mut words = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/')));
        STRUCTURES.iter().any(|word| text.contains(word))
            || words.any(|word| {
                let is_path = word.contains(['.', '/']);
                let word = word.trim_end_matches(['.', '/']).trim_start_matches("./");
                let is_end = |place: &&str| {
                    let front = place.strip_suffix(word);
                    front.is_some_and(|front| front.is_empty() || front.ends_with('/'))
                };
                is_path && !word.is_empty() && places.iter().any(is_end)
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_is_work_where_a_task_names_it_or_asks_for_a_structure() {
        for (text, expected) in [
            ("Create the project structure", true),
            ("Create `src/models/__init__.py`", true),
            ("Make the folder src/models", true),
            ("Models in src/models/", true),
            ("Add a users package", true),
            ("Make scripts executable", true),
            ("创建项目结构", true),
            ("Add the login", false),
            ("Add src/views", false),
            ("Add models", false),
            ("Done.", false),
            ("", false),
        ] {
            assert_eq!(asks_for_bare_file(&["x", text], "src/models/__init__.py"), expected, "{text}");
        }
    }
}
