#!/usr/bin/env bash
# Puts the program on the PATH of the next steps: a released package whose digest is right, or one built from the source beside this file.
set -euo pipefail

folder="$RUNNER_TEMP/specify-ralph"
mkdir -p "$folder/bin"
if [ -n "${RALPH_VERSION:-}" ]; then
  if [ -z "${RALPH_DIGEST:-}" ]; then
    echo "::error::\`version\` needs \`digest\`, the SHA-256 of its package" >&2
    exit 3
  fi
  source="$GITHUB_ACTION_PATH/../../Cargo.toml"
  repository=$(sed -n 's/^repository = "\(.*\)"/\1/p' "$source" | head -n 1)
  name="specify-ralph-$(uname -m)-unknown-linux-musl"
  curl --fail --silent --show-error --location --output "$folder/package.tar.xz" \
    "$repository/releases/download/v$RALPH_VERSION/$name.tar.xz"
  echo "$RALPH_DIGEST  $folder/package.tar.xz" | sha256sum --check --quiet
  tar --extract --file "$folder/package.tar.xz" --directory "$folder/bin" --strip-components 1
else
  echo "specify-ralph is built from source: no version is named"
  cargo install --quiet --locked --path "$GITHUB_ACTION_PATH/../.." --root "$folder"
fi
echo "$folder/bin" >> "$GITHUB_PATH"
