package tollgate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/tollgate-gateway/tollgate/internal/sealed"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/modules/directive"
)

func init() {
	httpcaddyfile.RegisterDirective("tollgate", parseService)
}

// Service describes a service to this package. The service's module registers it once.
type Service struct {
	// Name is the name in the line `tollgate <name>`, for a database of the service's own, and in the directive health.
	Name string

	// Form is the long form that the line stands for, as it would be written by hand: a route in a text/template.
	// {{.name}} is the option with that name: the words that its Read returned, or the whole option if it has no Read.
	// {{.block}} has the lines for the block of the service's own directive, and {{.costs.x}} has the costs of Costs,
	// each for a line of the directive budget.
	Form string

	// Options are the options that only the line has.
	Options []Option

	// Block names the options of the service's own directive, which parses them.
	Block []string

	// Costs returns the costs of the route table that are not 1, by the name of a budget.
	Costs func() map[string][]Cost

	// Schemas are the tables that the service may have, in its own database or the common one.
	Schemas []store.Schema

	// Sealed are the columns with the secrets that the keyring has sealed. Default: none.
	Sealed sealed.Columns

	// Handlers names the handlers that use the service's database. Folder returns, for the JSON of such a handler, the
	// folder with files that are not in the database, or "" if there is none; a nil Folder means that the service keeps
	// no files. Keys means that those files are secret keys, which a backup may omit.
	Handlers []string
	Folder   func(a *App, handler json.RawMessage) (string, error)
	Keys     bool

	// Command is the service's own command, tollgate <command>.
	Command caddycmd.Command
}

// Option is an option of a service's line.
type Option struct {
	Name string
	// Read checks the words after the name and returns those to use. Default: the option is taken as it was written,
	// with its block.
	Read func(d *caddyfile.Dispenser) ([]caddyfile.Token, error)
	// Excludes names another option that excludes this one. Default: none.
	Excludes string
}

// Cost is what a request takes from a budget.
type Cost struct {
	Units        int64
	Method, Path string // in the spelling of the directive budget
}

// String returns the argument of the option cost of budget.
func (c Cost) String() string { return fmt.Sprintf("%d %s %s", c.Units, c.Method, c.Path) }

// registered has the services by name.
var registered = make(map[string]*Service)

// Register adds a service and its command. It is called from the init function of the service's module and panics if
// the name is taken.
func Register(s Service) {
	if registered[s.Name] != nil {
		panic("the service " + s.Name + " is registered twice")
	}
	registered[s.Name] = &s
	if s.Command.Name != "" {
		caddycmd.RegisterCommand(s.Command)
	}
}

// Services returns the sorted names of all services.
func Services() []string { return slices.Sorted(maps.Keys(registered)) }

// Known returns an error if there is no such service.
func Known(service string) error {
	if registered[service] == nil {
		return fmt.Errorf("there is no service %q; there are: %s", service, strings.Join(Services(), ", "))
	}
	return nil
}

// Word parses an option with one argument. It is a Read function of Option.
func Word(d *caddyfile.Dispenser) ([]caddyfile.Token, error) {
	words := d.RemainingArgsAsTokens()
	if len(words) != 1 {
		return nil, d.ArgErr()
	}
	return words, nil
}

// Off parses an option that can only be switched off. It is a Read function of Option.
func Off(d *caddyfile.Dispenser) ([]caddyfile.Token, error) {
	option := d.Val()
	words := d.RemainingArgsAsTokens()
	if len(words) != 1 || words[0].Text != "off" {
		return nil, d.Errf("%s: there is only: %s off", option, option)
	}
	return words, nil
}

// words are the arguments of an option. Their String is what a line of the long form has.
type words []string

func (w words) String() string { return strings.Join(w, " ") }

// LongForm returns the long form of a service as formatted text. options has the arguments of those options of its line
// that have a Read.
func LongForm(service string, options map[string][]string) (string, error) {
	if err := Known(service); err != nil {
		return "", err
	}
	values := make(map[string]any)
	for name, value := range options {
		values[name] = words(value)
	}
	text, err := registered[service].expand(values)
	return string(caddyfile.Format([]byte(text))), err
}

// expand executes the template of the long form.
func (s *Service) expand(values map[string]any) (string, error) {
	form, err := template.New(s.Name).Parse(s.Form)
	if err != nil {
		return "", err
	}
	if s.Costs != nil {
		values["costs"] = s.Costs()
	}
	var text strings.Builder
	err = form.Execute(&text, values)
	return text.String(), err
}

// needsService returns the error for a line that names no service. A line with a block may be meant as the global
// option.
func needsService(h httpcaddyfile.Helper) error {
	hint := ""
	if h.NextBlock(0) {
		hint = "; options such as " + h.Val() + " stand in the option tollgate of the block at the top of the file"
	}
	return h.Errf("tollgate needs a service; there are: %s%s", strings.Join(Services(), ", "), hint)
}

// parseService mounts a whole service by one line, which stands for its long form:
//
//	tollgate [<matcher>] <service> {
//		<option of the line, or of the service's own directive>
//	}
func parseService(h httpcaddyfile.Helper) ([]httpcaddyfile.ConfigValue, error) {
	done := directive.Expand(h)
	h.Next() // tollgate
	matcher, err := h.ExtractMatcherSet()
	if err != nil {
		return nil, err
	}
	h.Next() // tollgate again, as ExtractMatcherSet has rewound
	if !h.NextArg() {
		return nil, needsService(h)
	}
	name := h.Val()
	if err := Known(name); err != nil {
		return nil, h.WrapErr(err)
	}
	if h.NextArg() {
		return nil, h.ArgErr()
	}
	service := registered[name]
	var w written
	values, err := service.read(h.Dispenser, &w)
	if err != nil {
		return nil, err
	}
	long, err := service.expand(values)
	if err != nil {
		return nil, err
	}
	route, err := expanded(h, name, long, w)
	if err != nil {
		return nil, err
	}
	done("tollgate " + name)
	if matcher != nil {
		route.MatcherSetsRaw = caddyhttp.RawMatcherSets{matcher}
	}
	return withHome(h, name, route)
}

// expanded parses a long form to a route, with the pieces of w in the places of their marks.
func expanded(h httpcaddyfile.Helper, service, long string, w written) (route caddyhttp.Route, err error) {
	// The block around the text makes it a segment that Caddy can parse.
	tokens, err := caddyfile.Tokenize([]byte("tollgate {\n"+long+"}\n"), "tollgate "+service)
	if err != nil {
		return route, err
	}
	handler, err := httpcaddyfile.ParseSegmentAsSubroute(h.WithDispenser(caddyfile.NewDispenser(w.putInto(tokens))))
	if err != nil {
		return route, err
	}
	return handler.(*caddyhttp.Subroute).Routes[0], nil
}

// read parses the block of the line. The values that it returns have marks of w in place of what the user wrote.
func (s *Service) read(d *caddyfile.Dispenser, w *written) (map[string]any, error) {
	values := make(map[string]any)
	var block []string
	for d.NextBlock(0) {
		name := d.Val()
		i := slices.IndexFunc(s.Options, func(o Option) bool { return o.Name == name })
		switch {
		case i < 0 && slices.Contains(s.Block, name): // its directive reports options that are given twice
			block = append(block, w.add(d.NextSegment()...))
		case i < 0:
			return nil, directive.NoOption(d, "unknown option %q; there are: %s",
				name, strings.Join(s.optionNames(), ", "))
		case values[name] != nil:
			return nil, d.Errf("%s is given twice", name)
		case s.Options[i].Read == nil:
			values[name] = w.add(d.NextSegment()...)
		default:
			tokens, err := s.Options[i].Read(d)
			if err != nil {
				return nil, err
			}
			value := make(words, len(tokens))
			for i, token := range tokens {
				value[i] = w.add(token)
			}
			values[name] = value
		}
	}
	for _, o := range s.Options {
		if values[o.Name] != nil && values[o.Excludes] != nil {
			return nil, d.Errf("%s stands instead of %s: give one of them", o.Name, o.Excludes)
		}
	}
	if block != nil {
		values["block"] = block
	}
	return values, nil
}

func (s *Service) optionNames() []string {
	names := make([]string, 0, len(s.Options)+len(s.Block))
	for _, o := range s.Options {
		names = append(names, o.Name)
	}
	return append(names, s.Block...)
}

// written holds pieces of what the user wrote. The text of the long form has marks in their places, so that the pieces
// are not converted to text, keep their quotes, and errors have their file and line.
type written [][]caddyfile.Token

// add adds a piece and returns its mark.
func (w *written) add(tokens ...caddyfile.Token) string {
	*w = append(*w, tokens)
	return writtenMark + strconv.Itoa(len(*w)-1)
}

// writtenMark begins a mark. The long forms do not contain it.
const writtenMark = "…"

// putInto replaces the marks by the pieces. The words before a mark on the same line become copies of the user's first
// token with their own text, because Caddy takes tokens of different files to be on different lines.
func (w *written) putInto(long []caddyfile.Token) []caddyfile.Token {
	tokens := make([]caddyfile.Token, 0, len(long))
	line := 0 // index of the first token of the line
	for i, t := range long {
		if i > 0 && t.Line != long[i-1].Line {
			line = len(tokens)
		}
		number, marked := strings.CutPrefix(t.Text, writtenMark)
		if !marked {
			tokens = append(tokens, t)
			continue
		}
		n, _ := strconv.Atoi(number) // it was made by add
		piece := (*w)[n]
		for j := line; j < len(tokens); j++ {
			text := tokens[j].Text
			tokens[j] = piece[0]
			tokens[j].Text = text
		}
		tokens = append(tokens, piece...)
	}
	return tokens
}
