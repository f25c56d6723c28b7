//! `specify ralph man`: manual pages.

use std::io::Write;

use anyhow::{Context, Result};
use camino::Utf8PathBuf;
use clap::{Args, Command};
use clap_mangen::Man;

use super::exit_code::ExitCode;
use super::output::stdout;
use super::start::grammar;

#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write a page for each command into this folder
    #[arg(long, value_name = "DIR")]
    pub dir: Option<Utf8PathBuf>,
}

pub fn run(args: &ManArgs) -> Result<ExitCode> {
    let mut out = stdout();
    let Some(dir) = &args.dir else {
        let page = page(grammar("specify ralph"))?;
        out.write_all(&page).and_then(|()| out.flush()).context("print the manual page")?;
        return Ok(ExitCode::Done);
    };
    std::fs::create_dir_all(dir).with_context(|| format!("create {dir}"))?;
    let mut count = 0;
    for program in ["specify ralph", "git ralph"] {
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
    writeln!(
        out,
        "{count} pages in {dir}; read them with `man -M` or put them into a `man1` folder of your MANPATH"
    )
    .and_then(|()| out.flush())
    .context("say where the pages are")?;
    Ok(ExitCode::Done)
}

fn page(command: Command) -> Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page).context("make the manual page")?;
    Ok(page)
}
