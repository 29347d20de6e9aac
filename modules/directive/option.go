package directive

import "github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

// NoOption is the error of a word in a block that is none of its options; format names the word first, then args. A
// brace there opens a block behind an option that takes none.
func NoOption(d *caddyfile.Dispenser, format, option string, args ...any) error {
	if option == "{" {
		if name := lineOf(d); name != "{" {
			return d.Errf("%s takes no block: take away its { and }, and give each option a line of its own", name)
		}
		return d.Err("this block is of no option: take away its { and }")
	}
	return d.Errf(format, append([]any{option}, args...)...)
}

// lineOf is the first word of the line that a dispenser is at.
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
