//! What a stream says beside the work: who pays, which models answer, which calls are denied.

use serde_json::Value;

use super::fields::text;
use super::transcript::Transcript;
use ralph_core::record::Parser;

/// What streams say: the event as `type/subtype`, the fact, and where in the event it is. `key` is the source of the key that pays,
/// `models` one name or an object whose keys are names, `denied` a list of calls that were denied.
const FACTS: &[(Parser, &str, &str, &str)] = &[
    (Parser::Claude, "system/init", "key", "/apiKeySource"),
    (Parser::Claude, "result", "models", "/modelUsage"),
    (Parser::Claude, "result", "denied", "/permission_denials"),
    (Parser::Qwen, "result", "models", "/stats/models"),
    (Parser::Qwen, "result", "denied", "/permission_denials"),
    (Parser::Gemini, "result", "models", "/stats/models"),
    (Parser::Copilot, "assistant.message", "models", "/data/model"),
    (Parser::Pi, "message_end", "models", "/message/model"),
    (Parser::Cline, "run_result", "models", "/model/id"),
];

/// Takes what an event says of these.
pub(super) fn read_facts(parser: Parser, event: &Value, transcript: &mut Transcript) {
    let (kind, subtype) = (text(event, "type"), text(event, "subtype"));
    for (_, wanted, fact, pointer) in FACTS.iter().filter(|(of, ..)| *of == parser) {
        let (of_type, of_subtype) = wanted.split_once('/').unwrap_or((wanted, ""));
        if of_type != kind || !of_subtype.is_empty() && of_subtype != subtype {
            continue;
        }
        let Some(value) = event.pointer(pointer) else { continue };
        match *fact {
            "key" => transcript.set_key_source(value.as_str()),
            "models" => {
                let names = value.as_object().into_iter().flat_map(|models| models.keys());
                names.map(String::as_str).chain(value.as_str()).for_each(|name| transcript.answered(name));
            }
            _ => {
                for call in value.as_array().into_iter().flatten() {
                    transcript.deny(text(call, "tool_use_id"), text(call, "tool_name"));
                }
            }
        }
    }
}
