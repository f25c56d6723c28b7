#!/bin/sh
# Runs every test in tests/. Fails where one fails.
failed=0
for test in tests/*.sh; do
  [ -f "$test" ] || continue
  if sh "$test"; then
    echo "ok   $test"
  else
    echo "FAIL $test" >&2
    failed=1
  fi
done
exit "$failed"
