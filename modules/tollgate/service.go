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

	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/modules/directive"
)

func init() {
	httpcaddyfile.RegisterDirective("tollgate", parseService)
}

// Service is what a module tells of the service it has, once.
type Service struct {
	// Name is that of the one line `tollgate <name>`, of a database of its own, and in
	// the directive health.
	Name string

	// Form is the long form that the line stands for, as one would write it by hand: a
	// route in a text/template. Of the options that were given {{.name}} is what
	// stands behind one that has Read, and one that has not as a whole. {{.block}} are the
	// lines for the block of the service's own directive, and {{.costs.x}} the
	// costs of Costs, each for a line of budget.
	Form string

	// Options are those of the line alone.
	Options []Option

	// Block are the options of the service's own directive, which reads them.
	Block []string

	// Costs are those of the route table that are not 1, by the name of a budget.
	Costs func() map[string][]Cost

	// Schemas are the tables that it may have, in its own database or that of all.
	Schemas []store.Schema

	// Handlers are the names of those that use its database. Folder tells of the JSON of one
	// which folder has files that are not in the database; empty: there is none. Default: it
	// keeps no files. Keys: those files are secret keys, which a backup may be without.
	Handlers []string
	Folder   func(a *App, handler json.RawMessage) (string, error)
	Keys     bool

	// Command is the service's own, tollgate <command>.
	Command caddycmd.Command
}

// Option is one of a service's line.
type Option struct {
	Name string
	// Read checks the words behind the name and returns those that count. Default: the
	// option is taken as it was written, with its block.
	Read func(d *caddyfile.Dispenser) ([]caddyfile.Token, error)
	// Instead is another option, which this one excludes. Default: none.
	Instead string
}

// Cost is what a request takes from a budget.
type Cost struct {
	Units        int64
	Method, Path string // as budget has them
}

// String is the argument of the option cost of budget.
func (c Cost) String() string { return fmt.Sprintf("%d %s %s", c.Units, c.Method, c.Path) }

// registered are the services by name.
var registered = make(map[string]*Service)

// Register adds a service, from the init of its module.
func Register(s Service) {
	if registered[s.Name] != nil {
		panic("the service " + s.Name + " is registered twice")
	}
	registered[s.Name] = &s
	if s.Command.Name != "" {
		caddycmd.RegisterCommand(s.Command)
	}
}

// Services are the names of all services, sorted.
func Services() []string { return slices.Sorted(maps.Keys(registered)) }

// Known is an error where there is no such service.
func Known(service string) error {
	if registered[service] == nil {
		return fmt.Errorf("there is no service %q; there are: %s", service, strings.Join(Services(), ", "))
	}
	return nil
}

// Word reads an option with one argument.
func Word(d *caddyfile.Dispenser) ([]caddyfile.Token, error) {
	words := d.RemainingArgsAsTokens()
	if len(words) != 1 {
		return nil, d.ArgErr()
	}
	return words, nil
}

// Off reads an option that can only be switched off.
func Off(d *caddyfile.Dispenser) ([]caddyfile.Token, error) {
	option := d.Val()
	words := d.RemainingArgsAsTokens()
	if len(words) != 1 || words[0].Text != "off" {
		return nil, d.Errf("%s: there is only: %s off", option, option)
	}
	return words, nil
}

// words are what stands behind an option; as text, what a line has.
type words []string

func (w words) String() string { return strings.Join(w, " ") }

// LongForm is the long form of a service, as text. options are words behind options of
// its line that have Read.
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

// expand makes the long form with values in their places.
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

// needsService is the error of a line that names none. Some mean the global option, which
// has a block.
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
	h.Next() // tollgate again: ExtractMatcherSet has rewound
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

// expanded returns the route of a long form, with the pieces of w in the places of their marks.
func expanded(h httpcaddyfile.Helper, service, long string, w written) (route caddyhttp.Route, err error) {
	// A block around the text makes it a segment that Caddy can parse.
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

// read reads the block of the line. The values have marks of w in the places of what
// the user wrote.
func (s *Service) read(d *caddyfile.Dispenser, w *written) (map[string]any, error) {
	values := make(map[string]any)
	var block []string
	for d.NextBlock(0) {
		name := d.Val()
		i := slices.IndexFunc(s.Options, func(o Option) bool { return o.Name == name })
		switch {
		case i < 0 && slices.Contains(s.Block, name): // its directive tells what is given twice
			block = append(block, w.add(d.NextSegment()...))
		case i < 0:
			return nil, directive.NoOption(d, "unknown option %q; there are: %s", name, strings.Join(s.optionNames(), ", "))
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
		if values[o.Name] != nil && values[o.Instead] != nil {
			return nil, d.Errf("%s stands instead of %s: give one of them", o.Name, o.Instead)
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

// written are pieces of what the user wrote. The text of the long form has marks
// in their places, so that they need not become text, keep their quotes, and
// errors have their file and line.
type written [][]caddyfile.Token

// add keeps a piece and returns its mark.
func (w *written) add(tokens ...caddyfile.Token) string {
	*w = append(*w, tokens)
	return writtenMark + strconv.Itoa(len(*w)-1)
}

// writtenMark begins a mark; the long forms do not have it.
const writtenMark = "…"

// putInto puts the pieces in the places of their marks. The words on the same
// line before a mark become copies of the user's first one but for the text: what
// is in another file is on another line to Caddy.
func (w *written) putInto(long []caddyfile.Token) []caddyfile.Token {
	tokens := make([]caddyfile.Token, 0, len(long))
	line := 0 // where the line begins
	for i, t := range long {
		if i > 0 && t.Line != long[i-1].Line {
			line = len(tokens)
		}
		number, marked := strings.CutPrefix(t.Text, writtenMark)
		if !marked {
			tokens = append(tokens, t)
			continue
		}
		n, _ := strconv.Atoi(number) // it is one of add
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
