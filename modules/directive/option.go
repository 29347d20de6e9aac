package directive

import (
	"slices"
	"strconv"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

// Options calls parse for each option in the block, if a block follows. It returns an error if an option occurs twice,
// unless repeated lists it.
func Options(d *caddyfile.Dispenser, parse func(option string) error, repeated ...string) error {
	seen := make(map[string]bool)
	for nesting := d.Nesting(); d.NextBlock(nesting); {
		option := d.Val()
		if seen[option] && !slices.Contains(repeated, option) {
			return d.Errf("%s is given twice", option)
		}
		seen[option] = true
		if err := parse(option); err != nil {
			return err
		}
	}
	return nil
}

// Text parses the single argument of an option into *target.
func Text(d *caddyfile.Dispenser, target *string) error {
	if !d.AllArgs(target) {
		return d.ArgErr()
	}
	return nil
}

// Texts parses one or more arguments of an option, and appends them to *target.
func Texts(d *caddyfile.Dispenser, target *[]string) error {
	args := d.RemainingArgs()
	if len(args) == 0 {
		return d.ArgErr()
	}
	*target = append(*target, args...)
	return nil
}

// Number parses the single argument of an option, a whole number of at least 1, into *target.
func Number(d *caddyfile.Dispenser, target *int) (err error) {
	option, text := d.Val(), ""
	if !d.AllArgs(&text) {
		return d.ArgErr()
	}
	if *target, err = strconv.Atoi(text); err != nil || *target < 1 {
		return d.Errf("%s: %q is not a whole number of at least 1", option, text)
	}
	return nil
}

// Duration parses the single argument of an option, a positive duration, into *target. example is a valid argument, for
// the error.
func Duration(d *caddyfile.Dispenser, target *caddy.Duration, example string) error {
	option, text := d.Val(), ""
	if !d.AllArgs(&text) {
		return d.ArgErr()
	}
	parsed, err := caddy.ParseDuration(text)
	if err != nil || parsed <= 0 {
		return d.Errf("%s: %q is not a positive duration such as %s", option, text, example)
	}
	*target = caddy.Duration(parsed)
	return nil
}

// Flag parses an option without arguments, and sets *target to true.
func Flag(d *caddyfile.Dispenser, target *bool) error {
	if d.NextArg() {
		return d.ArgErr()
	}
	*target = true
	return nil
}

// NoOption returns the error for an unknown word in a block. format is a format as for fmt.Sprintf. Its arguments are
// option, which is the unknown word, and then args. If the word is a brace, the user has given a block to an option
// that takes none, and the error states that.
func NoOption(d *caddyfile.Dispenser, format, option string, args ...any) error {
	if option == "{" {
		if name := lineOf(d); name != "{" {
			return d.Errf("%s takes no block: remove its { and }, and write each option on its own line", name)
		}
		return d.Err("this block does not belong to an option: remove its { and }")
	}
	return d.Errf(format, append([]any{option}, args...)...)
}

// lineOf returns the first word of the dispenser's current line.
func lineOf(d *caddyfile.Dispenser) string {
	file, line := d.File(), d.Line()
	first, steps := d.Val(), 0
	for d.Prev() {
		steps++
		if d.File() != file || d.Line() != line {
			break
		}
		first = d.Val()
	}
	for range steps { // back to the current token
		d.Next()
	}
	return first
}
