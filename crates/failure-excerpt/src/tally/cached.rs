//! Lines by which tools say that they ran nothing, as a cache has the result.

use super::scan::MAX_LINE_BYTES;

/// Parts of such lines: turbo, nx, bazel, pants, rush, wireit.
const CACHED: &[&str] = &[
    "cache hit, ",
    ">>> FULL TURBO",
    "[local cache]",
    "[remote cache]",
    "[existing outputs match the cache",
    "Nx read the output from the cache",
    "(cached) PASSED",
    "(cached locally)",
    "(cached remotely)",
    "was restored from the build cache",
    "Restored from cache",
];

/// What Gradle says of a task that it did not run.
const UP_TO_DATE: [&str; 2] = [" UP-TO-DATE", " FROM-CACHE"];

/// Returns the first such line. Of Gradle only if it ran no task that tests: it leaves out what no change concerns. Go says
/// `ok` of what it has in its cache, which counts.
pub(super) fn line(lines: &[&str]) -> Option<String> {
    let mut found = None;
    let (mut of_gradle, mut ran_task) = (None, false);
    for line in lines.iter().filter(|line| line.len() <= MAX_LINE_BYTES) {
        let text = line.trim();
        if let Some(task) = text.strip_prefix("> Task :") {
            let name = task.split(' ').next().unwrap_or(task).to_ascii_lowercase();
            if name.ends_with("test") && !task.ends_with(" NO-SOURCE") {
                let is_cached = UP_TO_DATE.iter().any(|outcome| task.ends_with(outcome));
                ran_task |= !is_cached;
                of_gradle = of_gradle.or(is_cached.then_some(text));
            }
        } else if found.is_none() && CACHED.iter().any(|part| text.contains(part)) {
            found = Some(text);
        }
    }
    found.or(of_gradle.filter(|_| !ran_task)).map(str::to_owned)
}
