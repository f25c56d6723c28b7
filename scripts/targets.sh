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
# links the others, comes from PyPI into target/tools. For macOS it is given the names in two frameworks, if there is no Xcode.
#
#     scripts/targets.sh [TARGET]...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# The oldest macOS that runs on arm64. Zig's own choice would be the newest.
export MACOSX_DEPLOYMENT_TARGET=11.0

targets=("$@")
[[ $# != 0 ]] || targets=({x86_64,aarch64}-unknown-linux-musl {aarch64,x86_64}-apple-darwin x86_64-pc-windows-gnu)

# The same as of scripts/packages: with another linker cargo would build all once more.
tools=$PWD/target/tools/packages
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

# framework NAME SYMBOL...: what the linker has to know of a framework of macOS, where there is no Xcode to bring it.
framework() {
  local folder=$frameworks/$1.framework architectures='[ x86_64-macos, arm64-macos ]' symbols
  printf -v symbols '%s, ' "${@:2}"
  mkdir -p "$folder"
  cat >"$folder/$1.tbd" <<END
--- !tapi-tbd
tbd-version: 4
targets: $architectures
install-name: '/System/Library/Frameworks/$1.framework/Versions/A/$1'
exports:
  - targets: $architectures
    symbols: [ ${symbols%, } ]
...
END
}

build_for_macos() {
  local frameworks=$PWD/target/tools/frameworks
  if [[ $(uname) != Darwin ]]; then
    # What sysinfo uses.
    framework CoreFoundation _kCFAllocator{Default,Null} _CF{CopyDescription,GetRetainCount,GetTypeID,Release,Retain} \
      _CFData{GetBytePtr,GetBytes,GetLength,GetTypeID} _CFString{CreateWithBytes,CreateWithBytesNoCopy} \
      _CFString{GetBytes,GetCStringPtr,GetLength,GetTypeID} _CFURL{GetFileSystemRepresentation,GetString}
    framework IOKit _kIOMasterPortDefault _IO{IteratorNext,ObjectRelease,RegistryEntryCreateCFProperty,RegistryEntryGetName} \
      _IOService{AddMatchingNotification,GetMatchingService,GetMatchingServices,Matching}
    local -x RUSTFLAGS="${RUSTFLAGS:-} -L framework=$frameworks"
  fi
  cargo zigbuild --locked --target "$1" --package specify-ralph "$2"
  python3 -B scripts/check-macos.py "target/$1/debug/"{specify-ralph,git-ralph}
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
      build_for_macos "$target" --all-targets
      ;;
    x86_64-apple-darwin)
      build_for_macos "$target" --bins
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
