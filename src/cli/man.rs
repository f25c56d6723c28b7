//! `specify ralph man`: manual pages.

use std::io::Write;

use anyhow::{Context, Result};
use camino::Utf8Path;
use clap::Command;
use clap_mangen::Man;

use ralph_core::record::CANONICAL;

use crate::cli::{ExitCode, print, say};

pub fn run(dir: Option<&Utf8Path>, grammar: fn(&'static str) -> Command) -> Result<ExitCode> {
    let Some(dir) = dir else {
        let page = page(grammar(CANONICAL))?;
        return print(|out| out.write_all(&page));
    };
    std::fs::create_dir_all(dir).with_context(|| format!("create {dir}"))?;
    let mut count = 0;
    for program in [CANONICAL, "git ralph"] {
        let mut whole = grammar(program);
        whole.build();
        let name = program.replace(' ', "-");
        let commands = whole.get_subcommands().filter(|command| !command.is_hide_set());
        let named = commands.map(|command| (format!("{name}-{}", command.get_name()), command.clone()));
        for (name, command) in [(name.clone(), whole.clone())].into_iter().chain(named) {
            let path = dir.join(format!("{name}.1"));
            std::fs::write(&path, page(command.display_name(name))?)
                .with_context(|| format!("write {path}"))?;
            count += 1;
        }
    }
    say(format_args!(
        "{count} pages in {dir}; read them with `man -M` or put them into a `man1` folder of your MANPATH, where `git help ralph` finds them; `git ralph -h` needs none"
    ))
}

fn page(mut command: Command) -> Result<Vec<u8>> {
    let usage = command.render_usage().to_string();
    let program = command.get_bin_name().unwrap_or_default().to_owned();
    let mut page = Vec::new();
    let source = concat!("specify-ralph ", env!("CARGO_PKG_VERSION"));
    Man::new(command).source(source).render(&mut page).context("make the manual page")?;
    let page = String::from_utf8(page).context("read the manual page")?;
    Ok(with_synopsis(&page, &program, &usage).into_bytes())
}

fn plain(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-")
}

/// Returns the page with the usage of the help for its synopsis: the library's own lists flags without their values.
fn with_synopsis(page: &str, program: &str, usage: &str) -> String {
    const HEADING: &str = ".SH SYNOPSIS\n";
    let Some((before, rest)) = page.split_once(HEADING) else { return page.to_owned() };
    let after = rest.find(".SH ").map_or("", |end| &rest[end..]);
    let lines: Vec<_> = usage
        .trim_start_matches("Usage:")
        .lines()
        .map(|usage| match usage.trim().strip_prefix(program) {
            Some(arguments) => format!("\\fB{}\\fR{}\n", plain(program), plain(arguments)),
            None => format!("{}\n", plain(usage.trim())),
        })
        .collect();
    format!("{before}{HEADING}{}{after}", lines.join(".br\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::grammar::grammar;

    #[test]
    fn a_page_has_the_usage_of_the_help_and_the_version() {
        let mut whole = grammar("git ralph");
        whole.build();
        let command = whole.find_subcommand("restore").unwrap().clone();
        let text = String::from_utf8(page(command.display_name("git-ralph-restore")).unwrap()).unwrap();
        let usage = ".SH SYNOPSIS\n\\fBgit ralph restore\\fR [OPTIONS] [N] [PATHS]...\n.SH DESCRIPTION\n";
        assert!(text.contains(usage), "{text}");
        let title = format!(".TH git-ralph-restore 1  \"specify-ralph {}\" \n", env!("CARGO_PKG_VERSION"));
        assert!(text.contains(&title), "{text}");
        assert_eq!(
            with_synopsis("a\n.SH SYNOPSIS\nb\n", "x", "Usage: x -a\n       x B"),
            "a\n.SH SYNOPSIS\n\\fBx\\fR \\-a\n.br\n\\fBx\\fR B\n"
        );
    }
}
