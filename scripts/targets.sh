#!/usr/bin/env bash
# Builds the program for systems that this machine is not, and runs what it can of it:
#
# | target | |
# |---|---|
# | x86_64-unknown-linux-musl | the published program; plays the demo and a loop |
# | aarch64-unknown-linux-musl | the published program; the same under qemu-user |
# | aarch64-apple-darwin | the program and all tests, linked; the signature of each page is checked |
# | x86_64-apple-darwin | the program, linked |
# | x86_64-pc-windows-gnu | the program, linked; scripts/wine.sh plays it |
#
# It needs rustup, python3, for Windows gcc-mingw-w64-x86-64 and, to run programs for arm64, qemu-user-static (Debian's names). Zig, which
# links the others, comes from PyPI into target/tools.
#
#     scripts/targets.sh [TARGET]...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# The oldest macOS that runs on arm64. Zig's own choice would be the newest.
export MACOSX_DEPLOYMENT_TARGET=11.0

targets=("$@")
[[ $# != 0 ]] || targets=({x86_64,aarch64}-unknown-linux-musl {aarch64,x86_64}-apple-darwin x86_64-pc-windows-gnu)

tools=$PWD/target/tools/zig
if [[ ! -x $tools/bin/cargo-zigbuild ]]; then
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet ziglang==0.17.1 cargo-zigbuild==0.24.1
fi
PATH=$tools/bin:$PATH
rustup target add "${targets[@]}"

# The loop starts itself and shells, so the kernel has to know who runs programs of another processor.
run_programs_of() {
  local known=/proc/sys/fs/binfmt_misc
  [[ -e $known/register ]] || mount -t binfmt_misc none "$known"
  [[ -e $known/qemu-$1 ]] || cat "/usr/lib/binfmt.d/qemu-$1.conf" >"$known/register"
}

for target in "${targets[@]}"; do
  printf '\n==> %s\n' "$target"
  case $target in
    *-linux-musl)
      cargo zigbuild --locked --profile dist --target "$target" --package specify-ralph --bins
      program=$PWD/target/$target/dist/specify-ralph
      [[ $target == $(uname -m)-* ]] || run_programs_of "${target%%-*}"
      scripts/play.sh "$program"
      ;;
    aarch64-apple-darwin)
      cargo zigbuild --locked --target "$target" --package specify-ralph --all-targets
      python3 -B scripts/check-macos.py "target/$target/debug/specify-ralph" "target/$target/debug/git-ralph"
      ;;
    x86_64-apple-darwin)
      cargo zigbuild --locked --target "$target" --package specify-ralph --bins
      python3 -B scripts/check-macos.py "target/$target/debug/specify-ralph" "target/$target/debug/git-ralph"
      ;;
    x86_64-pc-windows-gnu)
      cargo build --locked --target "$target" --package specify-ralph --bins
      ls -l "target/$target/debug/"{specify-ralph,git-ralph}.exe
      ;;
    *)
      echo "targets: no check is known for $target" >&2
      exit 2
      ;;
  esac
done
