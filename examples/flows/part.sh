# One part of examples/flows/sources.toml: checksums and line counts of the files that part.$PART lists.
set -eu
: > "$OUT/sums.$PART.new"
: > "$OUT/lines.$PART.new"
while IFS= read -r file; do
    sha256sum "$file" >> "$OUT/sums.$PART.new"
    wc -l < "$file" >> "$OUT/lines.$PART.new"
done < "$OUT/part.$PART"
# Whole or not at all: this may be killed at any point and run again.
mv "$OUT/sums.$PART.new" "$OUT/sums.$PART"
mv "$OUT/lines.$PART.new" "$OUT/lines.$PART"
printf '{"part": "%s", "files": %d}\n' "$PART" "$(wc -l < "$OUT/part.$PART")"
