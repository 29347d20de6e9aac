package routes

import (
	"math"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// maxFile limits the length of a routes file, in bytes.
	maxFile = 4 << 20
	// maxDepth limits the nesting of arrays in a routes file.
	maxDepth = 32
)

// File is the parsed content of Routes.php.
type File struct {
	Requires []Require // in their order
	Routes   Value     // a List
}

// Require is a require statement: a script with classes for the routes.
type Require struct {
	Path string // relative to the site's folder, with slashes, such as api/Example.js
	At   Position
}

// Read parses a routes file without executing it. It accepts only namespace, use and require statements, the assignment
// of $routes, and comments. As in PHP, keywords and true, false and null are case-insensitive. name is the path of the
// file relative to the site's folder, such as api/Routes.php. The error is an *Error with the position in the file.
func Read(name string, src []byte) (f File, err error) {
	r := &reader{name: name, src: string(src), line: 1, column: 1}
	defer func() {
		switch failure := recover().(type) {
		case nil:
		case *Error:
			f, err = File{}, failure
		default:
			panic(failure)
		}
	}()
	return r.file(), nil
}

// reader parses one file. Its methods panic with an *Error, which Read recovers.
type reader struct {
	name   string
	src    string
	offset int // of the next byte to read
	// line and column are the position of the byte at the offset counted. The value of counted is at most offset.
	counted, line, column int
}

// position returns the line and column of an offset. Offsets must not decrease from call to call, because the file is
// scanned only once.
func (r *reader) position(offset int) Position {
	for r.counted < offset {
		_, size := utf8.DecodeRuneInString(r.src[r.counted:])
		if r.src[r.counted] == '\n' {
			r.line, r.column = r.line+1, 0
		}
		r.counted += size
		r.column++
	}
	return Position{r.name, r.line, r.column}
}

// fail panics with an *Error at the current offset.
func (r *reader) fail(format string, args ...any) {
	panic(errorAt(r.position(r.offset), format, args...))
}

// file parses the file: the opening tag, and then statements in any order. Exactly one statement must set $routes.
func (r *reader) file() (f File) {
	if len(r.src) > maxFile {
		r.fail("the file is longer than %d bytes", maxFile)
	}
	if !strings.HasPrefix(r.src, "<?php") {
		r.fail("the file does not begin with <?php")
	}
	r.offset = len("<?php")
	if r.offset < len(r.src) && !strings.ContainsRune(" \t\r\n", rune(r.src[r.offset])) {
		r.fail("a space or a new line must follow <?php")
	}
	hasRoutes := false
	for {
		r.space()
		if r.offset == len(r.src) {
			break
		}
		if r.src[r.offset] == '$' {
			if hasRoutes {
				r.fail("$routes is set twice")
			}
			hasRoutes = true
			f.Routes = r.routes()
			continue
		}
		start := r.offset
		switch word := strings.ToLower(r.word()); word {
		case "namespace", "use":
			r.space()
			r.qualified()
		case "require", "require_once":
			f.Requires = append(f.Requires, r.require())
		default:
			r.offset = start
			r.unexpected("namespace, use, require, require_once or $routes")
		}
		r.take(";")
	}
	if !hasRoutes {
		r.fail("$routes is not set")
	}
	return f
}

// routes parses the assignment of an array to $routes, and returns the array.
func (r *reader) routes() Value {
	rest, ok := strings.CutPrefix(r.src[r.offset:], "$routes")
	if !ok || rest != "" && wordByte(rest[0]) { // wordByte: a longer name, such as $routes2
		r.fail("only $routes may be set")
	}
	r.offset = len(r.src) - len(rest)
	r.take("=")
	r.space()
	value := r.value(0)
	if value.Kind != List {
		panic(errorAt(value.At, "$routes is %s, not an array", value.Kind))
	}
	r.take(";")
	return value
}

// require parses the rest of a require statement after the keyword: a string, or __DIR__ and a string. Both are
// relative to the folder of the routes file.
func (r *reader) require() Require {
	r.space()
	position := r.position(r.offset)
	hasDir := strings.HasPrefix(r.src[r.offset:], "__DIR__")
	if hasDir {
		r.offset += len("__DIR__")
		r.take(".")
		r.space()
	}
	if r.offset == len(r.src) || r.src[r.offset] != '\'' && r.src[r.offset] != '"' {
		r.unexpected("a string, or __DIR__ . and a string")
	}
	text := r.str()
	refuse := func(reason string) { panic(errorAt(position, "require of %q: %s", text, reason)) }
	if !hasDir && strings.HasPrefix(text, "/") {
		refuse("the path must be below the site's folder")
	}
	if strings.ContainsAny(text, "\\\x00") {
		refuse("the path has a backslash or a null character")
	}
	full := path.Join(path.Dir(r.name), text)
	if full == ".." || strings.HasPrefix(full, "../") || strings.HasPrefix(full, "/") {
		refuse("the path leaves the site's folder")
	}
	switch path.Ext(full) {
	case ".js":
	case ".php":
		refuse("PHP is not executed here; write the class in JavaScript and require its .js file")
	default:
		refuse("only .js files can be loaded")
	}
	return Require{full, position}
}

// value parses a value that is nested in depth arrays.
func (r *reader) value(depth int) Value {
	v := Value{At: r.position(r.offset)}
	if r.offset == len(r.src) {
		r.unexpected("a value")
	}
	switch c := r.src[r.offset]; {
	case c == '[':
		r.offset++
		v.Kind = List
		v.Items = r.items(']', depth)
	case c == '\'' || c == '"':
		v.Kind, v.Text = String, r.str()
	case c == '-' || c >= '0' && c <= '9':
		v.Kind, v.Int = Integer, r.integer()
	case wordByte(c) || c == '\\':
		r.constant(&v, depth)
	default:
		r.unexpected("a value: a string, an integer, true, false, null, a class or an array")
	}
	return v
}

// constant parses a value that begins with a letter into v, such as true or array(…).
func (r *reader) constant(v *Value, depth int) {
	name := r.qualified()
	switch strings.ToLower(name) {
	case "true", "false":
		v.Kind, v.Bool = Boolean, strings.EqualFold(name, "true")
		return
	case "null": // the zero Value
		return
	case "array":
		r.take("(")
		v.Kind = List
		v.Items = r.items(')', depth)
		return
	}
	r.space()
	if strings.HasPrefix(r.src[r.offset:], "::") {
		r.offset += 2
		r.space()
		if strings.EqualFold(r.word(), "class") {
			v.Kind, v.Text = Class, name[strings.LastIndexByte(name, '\\')+1:]
			return
		}
		panic(errorAt(v.At, "only ::class may follow %s", name))
	}
	if r.offset < len(r.src) && r.src[r.offset] == '(' {
		panic(errorAt(v.At, "the function %s cannot be called: the file is data, and nothing in it is executed", name))
	}
	panic(errorAt(v.At, "%s is neither true, false, null nor a class: write %s::class or a string", name, name))
}

// items parses the items of an array after its opening bracket.
func (r *reader) items(closing byte, depth int) []Item {
	if depth == maxDepth {
		r.fail("arrays are nested deeper than %d levels", maxDepth)
	}
	var items []Item
	for {
		r.space()
		if r.offset < len(r.src) && r.src[r.offset] == closing {
			r.offset++
			return items
		}
		item := Item{Value: r.value(depth + 1)}
		r.space()
		if strings.HasPrefix(r.src[r.offset:], "=>") {
			key := item.Value
			switch key.Kind {
			case String:
				item.Named, item.Key = true, key.Text
			case Integer: // PHP numbers the items of a list; the number has no meaning here
			default:
				panic(errorAt(key.At, "a key must be a string or an integer, not %s", key.Kind))
			}
			item.KeyAt = key.At
			r.offset += 2
			r.space()
			item.Value = r.value(depth + 1)
			r.space()
		}
		if items == nil {
			items = make([]Item, 0, 5) // the size of a route
		}
		items = append(items, item)
		if r.offset < len(r.src) && r.src[r.offset] == ',' {
			r.offset++
			continue
		}
		if r.offset == len(r.src) || r.src[r.offset] != closing {
			r.unexpected("a comma or " + strconv.Quote(string(closing)))
		}
	}
}

// integer parses a decimal integer. It fails for leading zeros, for numbers out of range, and for text that is another
// kind of number in PHP.
func (r *reader) integer() int64 {
	start := r.offset
	if r.src[r.offset] == '-' {
		r.offset++
	}
	for r.offset < len(r.src) && r.src[r.offset] >= '0' && r.src[r.offset] <= '9' {
		r.offset++
	}
	text := r.src[start:r.offset]
	n, err := strconv.ParseInt(text, 10, 64)
	digits := strings.TrimPrefix(text, "-")
	leadingZero := len(digits) > 1 && digits[0] == '0'
	continues := r.offset < len(r.src) && (wordByte(r.src[r.offset]) || r.src[r.offset] == '.') // such as 0x1F or 1.5
	isFloat := n == math.MinInt64                                                               // in PHP
	if err != nil || leadingZero || continues || isFloat {
		r.offset = start
		r.fail("not an integer in decimal digits")
	}
	return n
}

// take skips the token sign. It fails if another token is next.
func (r *reader) take(sign string) {
	r.space()
	if !strings.HasPrefix(r.src[r.offset:], sign) {
		r.unexpected(strconv.Quote(sign))
	}
	r.offset += len(sign)
}

// unexpected fails with a message that names the token found and expectation, the expected token.
func (r *reader) unexpected(expectation string) {
	if r.offset >= len(r.src) {
		r.fail("the file ends, expected %s", expectation)
	}
	c, _ := utf8.DecodeRuneInString(r.src[r.offset:])
	r.fail("unexpected %q, expected %s", c, expectation)
}

// space skips white space and comments.
func (r *reader) space() {
	for r.offset < len(r.src) {
		rest := r.src[r.offset:]
		switch {
		case strings.ContainsRune(" \t\r\n", rune(rest[0])):
			r.offset++
		// In PHP, #[ begins an attribute instead of a comment.
		case strings.HasPrefix(rest, "//") || rest[0] == '#' && !strings.HasPrefix(rest, "#["):
			line, _, _ := strings.Cut(rest, "\n")
			if end := strings.Index(line, "?>"); end >= 0 { // ?> ends the code in PHP even within a comment
				r.offset += end
				r.fail("unexpected ?>")
			}
			r.offset += len(line)
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				r.fail("the comment does not end")
			}
			r.offset += end + 4 // with the /* before the text and the */ after it
		default:
			return
		}
	}
}

// word returns the next letters, digits and underscores, or an empty string.
func (r *reader) word() string {
	start := r.offset
	for r.offset < len(r.src) && wordByte(r.src[r.offset]) {
		r.offset++
	}
	return r.src[start:r.offset]
}

// qualified parses and returns a name of words that are separated by backslashes, such as \App\Example.
func (r *reader) qualified() string {
	start := r.offset
	if r.offset < len(r.src) && r.src[r.offset] == '\\' {
		r.offset++
	}
	for {
		if r.offset == len(r.src) || !wordByte(r.src[r.offset]) || r.src[r.offset] >= '0' && r.src[r.offset] <= '9' {
			r.unexpected("a name")
		}
		r.word()
		if r.offset == len(r.src) || r.src[r.offset] != '\\' {
			return r.src[start:r.offset]
		}
		r.offset++
	}
}

// wordByte reports whether c is an ASCII letter, a digit or an underscore.
func wordByte(c byte) bool {
	return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
}
