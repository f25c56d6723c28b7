//! Streams with one line that is not as it should be: what they say does not depend on it.

use std::fs::File;
use std::io::{Read, Write, copy, repeat};

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::lines::LineReader;

/// What happened to a line.
#[derive(Debug, Clone)]
enum Damage {
    CutAt(Index),
    With(Index, u8),
    Doubled,
    /// A field that is longer than any line may be, in front of the others.
    Long,
    /// Many small fields behind the others, which together are longer than any line may be.
    Broad,
}

/// Longest line in these tests.
const LONGEST: usize = 16 << 10;

/// One of each kind, in any order: the lines of a stream take turns.
fn damages() -> impl Strategy<Value = Vec<Damage>> {
    let odd = prop::sample::select(&b"\x01\xff\"{}[],:\\"[..]);
    let all = (any::<Index>(), any::<Index>(), odd).prop_map(|(cut, at, byte)| {
        vec![Damage::CutAt(cut), Damage::With(at, byte), Damage::Doubled, Damage::Long, Damage::Broad]
    });
    all.prop_shuffle()
}

/// Writes an object of a line, with a field of so many bytes in front.
fn write_long(file: &mut File, line: &[u8], bytes: usize) {
    file.write_all(b"{\"image\":\"").unwrap();
    copy(&mut repeat(b'A').take(bytes as u64), file).unwrap();
    file.write_all(b"\",").unwrap();
    file.write_all(&line[1..]).unwrap();
}

fn write(file: &mut File, line: &[u8], damage: &Damage) {
    match damage {
        Damage::CutAt(at) => file.write_all(&line[..at.index(line.len())]).unwrap(),
        Damage::With(at, byte) => {
            let (head, rest) = line.split_at(at.index(line.len()));
            file.write_all(&[head, &[*byte], rest].concat()).unwrap();
        }
        Damage::Doubled => file.write_all(&[line, b"\n", line].concat()).unwrap(),
        Damage::Long => write_long(file, line, 3 * LONGEST),
        Damage::Broad => {
            let parts = r#"{"role":"x","parts":["some words"]},"#.repeat(LONGEST / 16);
            file.write_all(&line[..line.len() - 1]).unwrap();
            file.write_all(format!(",\"more\":[{parts}null]}}").as_bytes()).unwrap();
        }
    }
    file.write_all(b"\n").unwrap();
}

struct Stream {
    report: AgentReport,
    said: Vec<AgentEvent>,
    too_long: u64,
}

/// Reads a stream as it is read while its agent runs.
fn follow(parser: Parser, longest: usize, write: impl FnOnce(&mut File)) -> Stream {
    let folder = tempfile::tempdir().unwrap();
    let path = Utf8PathBuf::from_path_buf(folder.path().join("stdout")).unwrap();
    write(&mut File::create(&path).unwrap());
    let mut lines = LineReader::with_longest(&path, longest);
    let mut stream = StreamReader::new(parser, &Redactor::default());
    let mut said = Vec::new();
    lines.read_rest(&mut |line| stream.line(line, &mut |event| said.push(event))).unwrap();
    let report = stream.finish(0, Utf8Path::new("/nowhere")).unwrap();
    Stream { report, said, too_long: lines.too_long }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn one_line_decides_no_verdict(damages in damages()) {
        for (agent, parser) in streams() {
            for case in ["happy", "tool-failure", "echo", "auth", "rate-limit", "cut"] {
                let text = fs::read(transcript(agent, case)).unwrap();
                let lines: Vec<&[u8]> = text.trim_ascii().split(|byte| *byte == b'\n').collect();
                let whole = follow(parser, LONGEST, |file| file.write_all(&text).unwrap()).report;
                // The last one is the result.
                for (place, damage) in (0..lines.len() - 1).zip(damages.iter().cycle()) {
                    let damaged = follow(parser, LONGEST, |file| {
                        for (number, line) in lines.iter().enumerate() {
                            if number == place {
                                write(file, line, damage);
                            } else {
                                file.write_all(&[line, &b"\n"[..]].concat()).unwrap();
                            }
                        }
                    });
                    if let Err(complaint) = compare(&damaged, &whole, damage) {
                        panic!("{agent} {case}, line {place}: {complaint}");
                    }
                }
            }
        }
    }
}

fn compare(damaged: &Stream, whole: &AgentReport, damage: &Damage) -> Result<(), String> {
    let Stream { report, too_long, .. } = damaged;
    let is_long = matches!(damage, Damage::Long | Damage::Broad);
    let counts = |report: &AgentReport| {
        let Tokens { input, cache_read, cache_write, output } = report.tokens;
        [input, cache_read, cache_write, output].map(Option::unwrap_or_default)
    };
    let class = |report: &AgentReport| report.failure.as_ref().map(|failure| failure.class);
    let (tokens, all_tokens) = (counts(report), counts(whole));
    let (cost, whole_cost) = (report.cost_usd.unwrap_or_default(), whole.cost_usd.unwrap_or_default());
    if *too_long != u64::from(is_long) {
        Err(format!("{too_long} lines were too long"))
    } else if report.succeeded != whole.succeeded {
        Err(format!("succeeded: {}, and {:?}", report.succeeded, report.failure))
    } else if tokens.iter().zip(&all_tokens).any(|(damaged, whole)| damaged > whole) || cost > whole_cost {
        Err(format!("more than was spent: {tokens:?} tokens and $ {cost}"))
    } else if (is_long || matches!(damage, Damage::Doubled))
        && (tokens != all_tokens || class(report) != class(whole))
    {
        Err(format!("{tokens:?} tokens, {:?}", report.failure))
    } else {
        Ok(())
    }
}

#[test]
fn a_line_of_20_mb_ends_its_tool() {
    let text = fs::read_to_string(transcript("claude", "tool-failure")).unwrap();
    let stream = follow(Parser::Claude, crate::lines::MAX_LINE_BYTES, |file| {
        for line in text.lines() {
            if line.contains("tool_result") {
                write_long(file, line.as_bytes(), 20_000_000);
            } else {
                file.write_all(line.as_bytes()).unwrap();
            }
            file.write_all(b"\n").unwrap();
        }
    });
    assert_eq!(stream.too_long, 1);
    assert!(stream.report.succeeded);
    assert_eq!(stream.report.tool_calls[0].exit_code, Some(101));
    assert!(stream.said.iter().any(|event| matches!(event, AgentEvent::ToolEnded { is_error: true, .. })));
}

#[test]
fn a_line_that_cannot_be_read_ends_all_tools() {
    for (agent, parser) in streams().filter(|(agent, _)| *agent != "opencode") {
        let text = fs::read_to_string(transcript(agent, "tool-failure")).unwrap();
        let start = text.find("cargo test").unwrap();
        let end = start + text[start..].find('\n').unwrap();
        let (report, said) =
            parse(parser, format!("{}\n{{\"type\":\"x\n", &text[..end]).as_bytes(), -1, Utf8Path::new("/"));
        assert!(said.iter().any(|event| matches!(event, AgentEvent::ToolEnded { .. })), "{agent}");
        assert_eq!(report.tool_calls.len(), 1, "{agent}");
    }
}
