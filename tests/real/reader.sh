#!/bin/sh
# Reads every record of every session with git alone: no program of ours, no JSON parser.
#
# usage: sh tests/real/reader.sh REPO OUTDIR
#
# REPO may be a clone that has nothing but the refs (git fetch origin 'refs/ralph/*:refs/ralph/*'). For each session it writes
#
#   OUTDIR/<feature>/<session>/NNN-<record>/...     the files of each record, chunks joined, and message.txt
#   OUTDIR/<feature>/<session>/progress.txt         the journal as the session left it
#   OUTDIR/<feature>/<session>/records.tsv          a line for each record, from the trailers
#
# and checks the length and SHA-256 of every file against manifest.json. Exits 1 at the first difference.
set -eu

[ $# -eq 2 ] || { echo "usage: sh reader.sh REPO OUTDIR" >&2; exit 2; }
repo=$1
out=$2
mkdir -p "$out"
tab=$(printf '\t')

fail() {
  echo "reader.sh: $*" >&2
  exit 1
}

digest() {
  if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -d ' ' -f 1
}

# trailer COMMIT KEY
trailer() {
  git -C "$repo" log -1 --format="%(trailers:key=$2,valueonly,separator=%x2C)" "$1"
}

# files MANIFEST: a line `path length sha256 chunks` for each file; chunks is 1 where the manifest has none.
files() {
  awk '
    /^  "files": \{$/ { inside = 1; next }
    /^  \}/ { inside = 0 }
    !inside { next }
    /^    "/ { path = $1; gsub(/[":]/, "", path); length_ = ""; sum = ""; chunks = 1 }
    /^      "length":/ { length_ = $2; gsub(/[^0-9]/, "", length_) }
    /^      "sha256":/ { sum = $2; gsub(/[^0-9a-f]/, "", sum) }
    /^      "chunks":/ { count = $2; gsub(/[^0-9]/, "", count); if (count != "") chunks = count }
    /^    \}/ { print path, length_, sum, chunks }
  ' "$1"
}

# content COMMIT PATH: a blob, or a folder of numbered chunks one after the other.
content() {
  case $(git -C "$repo" cat-file -t "$1:$2") in
    blob) git -C "$repo" cat-file blob "$1:$2" ;;
    tree)
      for chunk in $(git -C "$repo" ls-tree --name-only "$1:$2"); do
        git -C "$repo" cat-file blob "$1:$2/$chunk"
      done
      ;;
    *) fail "$1:$2 is neither a file nor a folder" ;;
  esac
}

# read_record COMMIT FOLDER: writes its files, and compares them with the manifest.
read_record() {
  mkdir -p "$2"
  git -C "$repo" log -1 --format=%B "$1" >"$2/message.txt"
  git -C "$repo" cat-file blob "$1:manifest.json" >"$2/manifest.json"
  files "$2/manifest.json" >"$2/.files"
  expected=1
  while read -r path length sum chunks; do
    mkdir -p "$(dirname "$2/$path")"
    content "$1" "$path" >"$2/$path"
    [ "$(wc -c <"$2/$path" | tr -d ' ')" = "$length" ] || fail "$1:$path is not $length bytes long"
    [ "$(digest <"$2/$path")" = "$sum" ] || fail "$1:$path does not have the SHA-256 $sum"
    expected=$((expected + chunks))
  done <"$2/.files"
  rm "$2/.files"
  found=$(git -C "$repo" ls-tree -r --name-only "$1" | wc -l | tr -d ' ')
  [ "$found" = "$expected" ] || fail "$1 has $found files, and its manifest lists $expected with itself"
}

# read_session REF FOLDER
read_session() {
  mkdir -p "$2"
  : >"$2/progress.txt"
  : >"$2/records.tsv"
  number=0
  for commit in $(git -C "$repo" rev-list --reverse "$1"); do
    kind=$(trailer "$commit" Ralph-Record)
    record=$2/$(printf '%03d' "$number")-$kind
    read_record "$commit" "$record"
    # Where a record holds the journal as it was found, somebody else had changed it.
    if [ -f "$record/progress.base.md" ]; then cp "$record/progress.base.md" "$2/progress.txt"; fi
    if [ -f "$record/progress.md" ]; then cat "$record/progress.md" >>"$2/progress.txt"; fi
    printf '%s\t%s\t%s\t%s\t%s\n' "$kind" "$(trailer "$commit" Ralph-Iteration)" "$(trailer "$commit" Ralph-Task)" \
      "$(trailer "$commit" Ralph-Outcome)" "$(trailer "$commit" Ralph-Exit)" >>"$2/records.tsv"
    number=$((number + 1))
  done
  [ "$number" -gt 0 ] || fail "$1 has no records"
  echo "$1: $number records"
}

git -C "$repo" for-each-ref --format="%(refname)$tab%(trailers:key=Ralph-Schema,valueonly,separator=%2C)" refs/ralph/ >"$out/.refs"
sessions=0
while IFS=$tab read -r ref schema; do
  # A ref whose tip has no such trailer belongs to another tool.
  [ "$schema" = 1 ] || continue
  read_session "$ref" "$out/${ref#refs/ralph/}"
  sessions=$((sessions + 1))
done <"$out/.refs"
rm "$out/.refs"
[ "$sessions" -gt 0 ] || fail "$repo has no session under refs/ralph/"
echo "reader.sh: every file of $sessions session(s) is as its manifest says"
