package directive

import "github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

// NoOption returns the error for a word in a block that is not one of its options; format takes the word first and then
// args. If the word is a brace, the line in fact opens a block for an option that takes none, and the error says so.
func NoOption(d *caddyfile.Dispenser, format, option string, args ...any) error {
	if option == "{" {
		if name := lineOf(d); name != "{" {
			return d.Errf("%s takes no block: take away its { and }, and give each option a line of its own", name)
		}
		return d.Err("this block is of no option: take away its { and }")
	}
	return d.Errf(format, append([]any{option}, args...)...)
}

// lineOf returns the first word of the dispenser's current line.
func lineOf(d *caddyfile.Dispenser) string {
	file, line, back := d.File(), d.Line(), 0
	first := d.Val()
	for d.Prev() {
		back++
		if d.File() != file || d.Line() != line {
			break
		}
		first = d.Val()
	}
	for range back {
		d.Next()
	}
	return first
}
