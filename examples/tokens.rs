//! Counts the tokens of texts as the budgets of a prompt do: an array of texts on stdin, an array of counts on stdout.

use std::io;

use anyhow::{Context, Result};

fn main() -> Result<()> {
    let texts: Vec<String> =
        serde_json::from_reader(io::stdin().lock()).context("stdin is no JSON array of texts")?;
    let vocabulary = tiktoken::get_encoding("cl100k_base").context("the vocabulary is missing")?;
    let counts: Vec<usize> = texts.iter().map(|text| vocabulary.count(text)).collect();
    serde_json::to_writer(io::stdout().lock(), &counts)?;
    Ok(())
}
