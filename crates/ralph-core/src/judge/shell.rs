//! The commands in a line of shell: as far as is needed to see which programs it runs.

/// Splits a command line at `&&`, `;`, `|`, new lines and parentheses. Returns the words of each command, unquoted.
pub(super) fn commands(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                while let Some(inner) = chars.next().filter(|inner| *inner != c) {
                    let is_escape = inner == '\\' && c == '"' && matches!(chars.peek(), Some('"' | '\\'));
                    word.push(if is_escape { chars.next().unwrap_or(inner) } else { inner });
                }
            }
            '\\' => match chars.next() {
                Some('\n') | None => {}
                Some(escaped) => word.get_or_insert_default().push(escaped),
            },
            '#' if word.is_none() => while chars.next_if(|c| *c != '\n').is_some() {},
            ';' | '&' | '|' | '\n' | '(' | ')' | '`' => {
                finish(&mut commands, &mut word);
                commands.push(Vec::new());
            }
            c if c.is_whitespace() => finish(&mut commands, &mut word),
            c => word.get_or_insert_default().push(c),
        }
    }
    finish(&mut commands, &mut word);
    commands.retain(|words| !words.is_empty());
    commands
}

fn finish(commands: &mut [Vec<String>], word: &mut Option<String>) {
    if let (Some(word), Some(command)) = (word.take(), commands.last_mut()) {
        command.push(word);
    }
}

/// Programs that run the command behind them: their words, options with a value, and other words before the command.
const WRAPPERS: &[(&[&str], &[&str], usize)] = &[
    (&["env"], &["-u", "--unset", "-C", "--chdir"], 0),
    (&["timeout"], &["-k", "--kill-after", "-s", "--signal"], 1),
    (&["gtimeout"], &["-k", "--kill-after", "-s", "--signal"], 1),
    (&["time"], &["-f", "-o"], 0),
    (&["nice"], &["-n", "--adjustment"], 0),
    (&["ionice"], &["-c", "-n"], 0),
    (&["xargs"], &["-n", "-P", "-I", "-L", "-d", "-a", "-s"], 0),
    (&["stdbuf"], &["-i", "-o", "-e"], 0),
    (&["nohup"], &[], 0),
    (&["exec"], &[], 0),
    (&["command"], &[], 0),
    (&["sudo"], &["-u", "-g"], 0),
    (&["xvfb-run"], &["-n", "-s"], 0),
    (&["!"], &[], 0),
    (&["{"], &[], 0),
    (&["if"], &[], 0),
    (&["elif"], &[], 0),
    (&["then"], &[], 0),
    (&["else"], &[], 0),
    (&["while"], &[], 0),
    (&["until"], &[], 0),
    (&["do"], &[], 0),
    (&["uv", "run"], &["--with", "-p", "--python", "--extra", "--group", "--project", "--directory"], 0),
    (&["poetry", "run"], &[], 0),
    (&["pipenv", "run"], &[], 0),
    (&["pdm", "run"], &[], 0),
    (&["rye", "run"], &[], 0),
    (&["bundle", "exec"], &[], 0),
    (&["mise", "exec"], &[], 0),
    (&["npm", "exec"], &["-p", "--package"], 0),
    (&["pnpm", "exec"], &[], 0),
    (&["npx"], &["-p", "--package"], 0),
    (&["bunx"], &[], 0),
];

/// Returns a command without assignments and without the programs around it.
pub(super) fn unwrapped(mut words: &[String]) -> &[String] {
    loop {
        let before = words.len();
        while words.first().is_some_and(|word| is_assignment(word)) {
            words = &words[1..];
        }
        let wrapper = WRAPPERS.iter().find(|(names, ..)| {
            words.len() >= names.len() && names.iter().zip(words).all(|(name, word)| name == word)
        });
        if let Some((names, valued, others)) = wrapper {
            words = without_options(&words[names.len()..], valued);
            words = &words[(*others).min(words.len())..];
        }
        if words.len() == before {
            return words;
        }
    }
}

/// Returns what is behind the options; those of `valued` take the next word.
pub(super) fn without_options<'a>(mut words: &'a [String], valued: &[&str]) -> &'a [String] {
    while let Some(option) = words.first().filter(|word| word.starts_with('-')) {
        // `-euo pipefail`
        let is_group = option.len() > 2 && option[1..].chars().all(|c| c.is_ascii_alphabetic());
        let last = if is_group { format!("-{}", &option[option.len() - 1..]) } else { option.clone() };
        let taken = if valued.contains(&last.as_str()) { 2 } else { 1 };
        let is_end = option == "--";
        words = &words[taken.min(words.len())..];
        if is_end {
            break;
        }
    }
    words
}

/// Returns the value of the first of `options` that is there, from `-f FILE`, `--file=FILE` or `-fFILE`.
pub(super) fn option_value<'a>(words: &'a [String], options: &[&str]) -> Option<&'a str> {
    words.iter().enumerate().find_map(|(at, word)| {
        if options.contains(&word.as_str()) {
            return words.get(at + 1).map(String::as_str);
        }
        options.iter().find_map(|option| {
            let value = word.strip_prefix(option).filter(|value| !value.is_empty())?;
            if option.starts_with("--") { value.strip_prefix('=') } else { Some(value) }
        })
    })
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_split_into_its_commands() {
        for (line, expected) in [
            ("a b && c; d | e", "a b/c/d/e"),
            ("sh -c 'a && b' \"c; \\\"d\\\"\"", "sh -c a && b c; \"d\""),
            ("(cd x && ./y) || z # && w", "cd x/./y/z"),
            ("a \\\n b\nc", "a b/c"),
            ("echo it\\'s a#b ''", "echo it's a#b "),
            ("'open", "open"),
            ("", ""),
        ] {
            let found: Vec<String> = commands(line).iter().map(|words| words.join(" ")).collect();
            assert_eq!(found.join("/"), expected, "{line}");
        }
    }

    #[test]
    fn assignments_and_wrappers_come_off() {
        for (line, expected) in [
            ("A=1 B_2='x y' ./run", "./run"),
            ("timeout -k 5 --foreground 10m nice -n 5 ./run -v", "./run -v"),
            ("env -u HOME CI=1 time -p ./run", "./run"),
            ("uv run --with x -- pytest", "pytest"),
            ("if ! ./run", "./run"),
            ("timeout", ""),
            ("bundle install", "bundle install"),
            ("./a=b", "./a=b"),
        ] {
            let commands = commands(line);
            assert_eq!(unwrapped(&commands[0]).join(" "), expected, "{line}");
        }
    }
}
