# Reads test files, decides which tests pass, fail or are skipped, and prints that as a runner does. See runner.sh.

function key(title) {
  sub(/^test_/, "", title)
  sub(/^Test/, "", title)
  return tolower(title)
}

function close_test() {
  if (title == "") return
  total++
  name[total] = title
  file[total] = current
  skipped[total] = skip
  focused[total] = only
  failed[total] = has_assertion && index(bugs, " " key(title) " ")
  if (inverted) failed[total] = !failed[total]
  if (only) { focus[current] = 1; has_focus = 1 }
  title = ""
}

function open_test(text) {
  close_test()
  title = text
  skip = pending_skip
  inverted = pending_inverted
  only = 0
  has_assertion = 0
  pending_skip = 0
  pending_inverted = 0
}

function between(text, quote) {
  sub("^[^" quote "]*" quote, "", text)
  sub(quote ".*$", "", text)
  return text
}

FNR == 1 { close_test(); current = FILENAME; is_hidden = 0; pending_skip = 0; is_test = 0 }
/^\/\/go:build never/ || /^#!\[cfg\(any\(\)\)\]/ { is_hidden = 1 }
is_hidden || /^[ \t]*(\/\/|#($|[^\[]))/ { next }

language == "js" && /^ *(x?(it|test)|maybe)(\.skip|\.only|\.todo|\.failing|\.fails|\.skipIf\([^)]*\))?\('/ {
  open_test(between($0, "'"))
  if (title == "win32") { text = $0; sub(/^.*\)\('/, "", text); sub(/'.*$/, "", text); title = text }
  skip = /^ *x(it|test)/ || /\.skip\(/ || /\.todo\(/
  only = /\.only\(/
  inverted = /\.fail(ing|s)\(/
  next
}
language == "py" && /^ *@(pytest\.mark|unittest)\.skip\(/ { pending_skip = 1 }
language == "py" && /^ *@(pytest\.mark\.xfail|unittest\.expectedFailure)/ { pending_inverted = 1 }
language == "rs" && /^#\[should_panic/ { pending_inverted = 1 }
language == "py" && /^ *def test_/ { text = $0; sub(/^ *def /, "", text); sub(/\(.*/, "", text); open_test(text); next }
language == "rs" && /^#\[test\]/ { is_test = 1 }
language == "rs" && /^#\[ignore/ { pending_skip = 1 }
language == "rs" && /^fn / {
  text = $0; sub(/^fn /, "", text); sub(/\(.*/, "", text)
  if (is_test) open_test(text); else close_test()
  is_test = 0; next
}
language == "go" && /^func Test[A-Z][a-z]*\(t / {
  text = $0; sub(/^func /, "", text); sub(/\(.*/, "", text); open_test(text); next
}
language == "go" && /^\tt\.Skip/ { skip = 1 }
language == "bats" && /^@test / { open_test(between($0, "\"")); next }
language == "bats" && /^  skip/ { skip = 1 }
language == "rb" && /^ *[xf]?it '/ {
  open_test(between($0, "'"))
  skip = /^ *xit/
  only = /^ *fit/
  next
}
/^[^ \t]/ && language != "js" && language != "rb" && !/^}/ { close_test() }
/expect\(|assert|t\.Fatal|\[ "/ { has_assertion = 1 }

function end_of_file(which,   i, fails) {
  fails = 0
  for (i = 1; i <= total; i++) if (file[i] == which && state[i] == "fail") fails++
  return fails
}

function show(pass, fail, skip_word,   i) {
  for (i = 1; i <= total; i++) {
    if (state[i] == "pass" && pass != "") printf pass "\n", name[i]
    if (state[i] == "fail" && fail != "") printf fail "\n", name[i]
    if (state[i] == "skip" && skip_word != "") printf skip_word "\n", name[i]
  }
}

function part(count, word) { return count ? count " " word ", " : "" }

END {
  close_test()
  for (i = 1; i <= total; i++) {
    is_out = filter != "" && !index(name[i], filter)
    is_unfocused = runner != "rspec" && focus[file[i]] && !focused[i]
    if (runner == "rspec" && has_focus && !focused[i]) is_out = 1
    if (is_out) { state[i] = (runner == "jest" || runner == "vitest" || runner == "node") ? "skip" : "out" }
    else if (skipped[i] || is_unfocused || (only_described && key(name[i]) != "adds")) state[i] = "skip"
    else state[i] = failed[i] ? "fail" : "pass"
    n[state[i]]++
    if (!(file[i] in seen)) { seen[file[i]] = 1; order[++file_count] = file[i] }
  }
  pass = n["pass"] + 0; fail = n["fail"] + 0; skip_count = n["skip"] + 0; out = n["out"] + 0
  listed = pass + fail + skip_count
  code = fail ? 1 : 0
  if (runner == "jest") {
    if (!total) {
      print "No tests found, exiting with code " (allows_none ? 0 : 1)
      exit allows_none ? 0 : 1
    }
    for (f = 1; f <= file_count; f++) {
      bad = end_of_file(order[f]); bad_files += bad > 0
      print (bad ? "FAIL " : "PASS ") order[f]
      for (i = 1; i <= total; i++) if (file[i] == order[f])
        print "  " (state[i] == "pass" ? "✓ " : state[i] == "fail" ? "✕ " : "○ skipped ") name[i]
    }
    for (i = 1; i <= total; i++) if (state[i] == "fail")
      print "\n  ● " name[i] "\n\n    expect(received).toBe(expected) // Object.is equality\n"
    print "\nTest Suites: " part(bad_files, "failed") part(file_count - bad_files, "passed") file_count " total"
    print "Tests:       " part(fail, "failed") part(skip_count, "skipped") part(pass, "passed") listed " total"
    print "Snapshots:   0 total\nTime:        0.512 s\nRan all test suites."
  } else if (runner == "vitest") {
    if (!total) { print "No test files found, exiting with code " (allows_none ? 0 : 1); exit allows_none ? 0 : 1 }
    for (f = 1; f <= file_count; f++) { bad_files += end_of_file(order[f]) > 0; print " ✓ " order[f] " 4ms" }
    show("", " FAIL  tests/a.test.ts > %s\nAssertionError: expected false to be true", "")
    text = (fail ? fail " failed | " : "") pass " passed" (skip_count ? " | " skip_count " skipped" : "")
    if (!pass) text = (fail ? fail " failed | " : "") skip_count " skipped"
    print "\n Test Files  " (bad_files ? bad_files " failed | " : "") (file_count - bad_files) " passed (" file_count ")"
    print "      Tests  " text " (" listed ")\n   Start at  10:00:00\n   Duration  312ms"
  } else if (runner == "mocha") {
    print ""
    show("  ✔ %s", "  1) %s", "  - %s")
    print "\n\n  " pass " passing (8ms)"
    if (skip_count) print "  " skip_count " pending"
    if (fail) print "  " fail " failing"
    k = 0
    for (i = 1; i <= total; i++) if (state[i] == "fail") print "\n  " (++k) ") " name[i] ":\n     AssertionError: not ok"
  } else if (runner == "node") {
    show("✔ %s (0.4ms)", "✖ %s (0.5ms)", "﹣ %s (0.1ms) # SKIP")
    print "ℹ tests " listed "\nℹ suites 0\nℹ pass " pass "\nℹ fail " fail "\nℹ cancelled 0"
    print "ℹ skipped " skip_count "\nℹ todo 0\nℹ duration_ms 45.3"
  } else if (runner == "pytest") {
    print "============================= test session starts =============================="
    print "platform linux -- Python 3.12.3, pytest-8.2.0, pluggy-1.5.0"
    print "collected " total " items" (out ? " / " out " deselected / " listed " selected" : "") "\n"
    for (f = 1; f <= file_count; f++) {
      line = order[f] " "
      for (i = 1; i <= total; i++) if (file[i] == order[f] && state[i] != "out")
        line = line (state[i] == "pass" ? "." : state[i] == "fail" ? "F" : "s")
      print line
    }
    text = part(fail, "failed") part(pass, "passed") part(skip_count, "skipped") part(out, "deselected")
    sub(/, $/, "", text)
    for (i = 1; i <= total; i++) if (state[i] == "fail") print "FAILED " file[i] "::" name[i] " - assert False"
    print "\n============================== " (text == "" ? "no tests ran" : text) " in 0.05s =============================="
    if (!listed) code = allows_none ? 0 : 5
  } else if (runner == "python") {
    show("%s (test_a.LoginTest) ... ok", "%s (test_a.LoginTest) ... FAIL", "%s (test_a.LoginTest) ... skipped 'flaky'")
    for (i = 1; i <= total; i++) if (state[i] == "fail")
      print "\n======================================================================\nFAIL: " name[i] " (test_a.LoginTest)"
    print "\n----------------------------------------------------------------------"
    print "Ran " listed " tests in 0.001s\n"
    text = fail ? "FAILED (failures=" fail : "OK (skipped=" skip_count
    if (fail && skip_count) text = text ", skipped=" skip_count
    print (fail || skip_count) ? text ")" : "OK"
  } else if (runner == "cargo") {
    if (!file_count) print "\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s"
    for (f = 1; f <= file_count; f++) {
      split("", m); lines = ""
      for (i = 1; i <= total; i++) if (file[i] == order[f]) {
        m[state[i]]++
        word = state[i] == "pass" ? "ok" : state[i] == "fail" ? "FAILED" : "ignored"
        if (state[i] != "out") lines = lines "test " name[i] " ... " word "\n"
      }
      print "\nrunning " (m["pass"] + m["fail"] + m["skip"]) " tests\n" lines
      print "test result: " (m["fail"] ? "FAILED" : "ok") ". " (m["pass"] + 0) " passed; " (m["fail"] + 0) " failed; " \
        (m["skip"] + 0) " ignored; 0 measured; " (m["out"] + 0) " filtered out; finished in 0.00s"
    }
    if (fail) code = 101
  } else if (runner == "go") {
    if (!total) { print "?   \texample.com/login\t[no test files]"; exit 0 }
    for (i = 1; i <= total; i++) if (state[i] != "out")
      print "=== RUN   " name[i] "\n--- " toupper(state[i]) ": " name[i] " (0.00s)"
    if (!listed) print "testing: warning: no tests to run"
    print (fail ? "FAIL\nFAIL\texample.com/login\t0.003s\nFAIL" : "PASS\nok  \texample.com/login\t0.003s")
  } else if (runner == "bats") {
    print "1.." listed
    for (i = 1; i <= total; i++) if (state[i] != "out")
      print (state[i] == "fail" ? "not ok " : "ok ") (++k) " " name[i] (state[i] == "skip" ? " # skip" : "")
  } else if (runner == "rspec") {
    if (has_focus) print "Run options: include {:focus=>true}\n"
    if (!listed) print "No examples found.\n"
    for (i = 1; i <= total; i++) if (state[i] == "fail") print "rspec ./" file[i] ":5 # Login " name[i]
    print "\nFinished in 0.002 seconds (files took 0.08 seconds to load)"
    print listed " examples, " fail " failure" (fail == 1 ? "" : "s") (skip_count ? ", " skip_count " pending" : "")
  }
  exit code
}
