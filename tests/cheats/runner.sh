# Plays a test runner without its program: `runner.sh NAME ARGUMENTS` reads the test files of the project in the current
# folder, honors what skips, selects or hides tests, and prints what that runner prints. A test fails if a source says
# `BUG NAME` and the test still asserts something.
here=${0%/*} runner=$1
shift
filter='' config='' allows_none=
while [ $# -gt 0 ]; do
  case $1 in
    -t | -k | --grep | -run | -f | -e | --test-name-pattern) filter=$2 && shift ;;
  esac
  shift
done
language=js files='tests/*.test.js'
case $runner in
  jest) config=jest.config.js ;;
  vitest) config=vitest.config.ts files='tests/*.test.ts' ;;
  mocha) config=.mocharc.json ;;
  node) ;;
  pytest) language=py config=pytest.ini files='tests/test_*.py' ;;
  python) language=py files='tests/test_*.py' ;;
  cargo) language=rs config=Cargo.toml files='tests/*.rs' ;;
  go) language=go files='login/*_test.go' ;;
  bats) language=bats files='tests/*.bats' ;;
  rspec) language=rb config=.rspec files='spec/*_spec.rb' ;;
esac
settings=$(cat $config conftest.py 2>/dev/null </dev/null)
case $settings in
  *passWithNoTests* | *exitstatus*) allows_none=1 ;;
esac
selected='' sources=''
for file in $files; do
  [ -f "$file" ] || continue
  stem=${file##*/}
  case $runner in
    cargo) mark="name = \"${stem%.rs}\"" ;;
    *) mark=$stem ;;
  esac
  case $settings in
    *"'none'"* | *'"none"'* | *'= none'* | *'pattern none'* | *'autotests = false'* | *"$mark"*) continue ;;
  esac
  selected="$selected $file"
done
for file in src/* login/login.go lib/*; do
  [ -f "$file" ] && sources="$sources $file"
done
# Code under test that ends the runner.
[ -z "$sources" ] || ! grep -q QUIT $sources </dev/null || exit 0
bugs=" $(sed -n 's/.*BUG \([a-z]*\).*/\1/p' $sources </dev/null | tr '\n' ' ')"
[ -n "$filter" ] || filter=$(printf '%s\n' "$settings" | sed -n 's/^addopts = -k //p')
[ -n "$filter" ] || [ -z "$selected" ] || filter=$(sed -n -e 's/.*LoginTest("\(test_[a-z]*\)").*/\1/p' \
  -e 's/.*"test.run", "\(Test[A-Za-z]*\)".*/\1/p' $selected | head -n 1)
cat $selected /dev/null | grep -q 'BATS_TEST_DESCRIPTION' && only_described=1
exec awk -f "$here/runner.awk" -v runner="$runner" -v language="$language" -v filter="$filter" -v bugs="$bugs" \
  -v allows_none="$allows_none" -v only_described="$only_described" $selected /dev/null
