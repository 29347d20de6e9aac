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
	// Name is the name in the line `tollgate <name>`, in the option database, and in the directive health.
	Name string

	// Form is the long form of the line, as a user would write it by hand: a route, as a text/template. {{.x}} stands for
	// the option x: the words that the option's Read returned, or the whole option if it has no Read. {{.block}} has the
	// lines for the block of the service's directive. {{.costs.x}} has the costs that Costs returns for the budget x, each
	// for a line of the directive budget.
	Form string

	// Options are the options that only the line `tollgate <name>` has.
	Options []Option

	// Block names the options of the service's directive, which parses them.
	Block []string

	// Costs returns the costs of those routes of the service that do not cost 1 unit. The keys are names of budgets.
	Costs func() map[string][]Cost

	// Schemas are the tables that the service may have in its database.
	Schemas []store.Schema

	// Sealed are the columns with secrets that the keyring has encrypted. Default: none.
	Sealed sealed.Columns

	// Handlers are the names of the handlers that use the service's database.
	Handlers []string

	// Folder returns the folder in which a handler of the service stores files, or "" if the handler stores none. handler
	// is the handler's JSON. A nil Folder means that the service stores no files.
	Folder func(a *App, handler json.RawMessage) (string, error)

	// Keys means that the files in Folder are secret keys, which a backup may omit.
	Keys bool

	// Command is the service's command, tollgate <command>.
	Command caddycmd.Command
}

// Option is an option of a line `tollgate <name>`.
type Option struct {
	Name string
	// Read checks the words after the option's name, and returns the words to use. Default: the option is used unchanged,
	// with its block.
	Read func(d *caddyfile.Dispenser) ([]caddyfile.Token, error)
	// Excludes names an option that cannot be combined with this option. Default: none.
	Excludes string
}

// Cost is the number of units that a kind of request takes from a budget.
type Cost struct {
	Units        int64
	Method, Path string // in the spelling of the directive budget
}

// String returns the arguments of the option cost of the directive budget.
func (c Cost) String() string { return fmt.Sprintf("%d %s %s", c.Units, c.Method, c.Path) }

// registered has the registered services by name.
var registered = make(map[string]*Service)

// Register adds a service and its command. The init function of the service's module calls it. It panics if the name is
// already registered.
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

// CheckService returns an error if no service with this name is registered.
func CheckService(service string) error {
	if registered[service] == nil {
		return fmt.Errorf("there is no service %q; there are: %s", service, strings.Join(Services(), ", "))
	}
	return nil
}

// ReadWord parses an option with one argument. It can be used as Option.Read.
func ReadWord(d *caddyfile.Dispenser) ([]caddyfile.Token, error) {
	words := d.RemainingArgsAsTokens()
	if len(words) != 1 {
		return nil, d.ArgErr()
	}
	return words, nil
}

// ReadOff parses an option whose only argument is off. It can be used as Option.Read.
func ReadOff(d *caddyfile.Dispenser) ([]caddyfile.Token, error) {
	option := d.Val()
	words := d.RemainingArgsAsTokens()
	if len(words) != 1 || words[0].Text != "off" {
		return nil, d.Errf("the only argument of %s is off: write %s off", option, option)
	}
	return words, nil
}

// arguments are the arguments of an option. In a template they are written separated by spaces.
type arguments []string

func (w arguments) String() string { return strings.Join(w, " ") }

// LongForm returns the long form of a service as formatted text. options has the arguments of options, by name. Only
// options with a Read function can be given.
func LongForm(service string, options map[string][]string) (string, error) {
	if err := CheckService(service); err != nil {
		return "", err
	}
	values := make(map[string]any)
	for name, value := range options {
		values[name] = arguments(value)
	}
	text, err := registered[service].expand(values)
	return string(caddyfile.Format([]byte(text))), err
}

// expand executes the template of the long form with the values of the options, to which it adds the costs.
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

// needsService returns the error for a line without a service. If the line has a block, the user may have meant the
// global option.
func needsService(h httpcaddyfile.Helper) error {
	hint := ""
	if h.NextBlock(0) {
		hint = "; options such as " + h.Val() + " belong to the global option tollgate, in the block at the top of the file"
	}
	return h.Errf("tollgate needs a service; there are: %s%s", strings.Join(Services(), ", "), hint)
}

// parseService parses a line that mounts a whole service, by expanding it to its long form:
//
//	tollgate [<matcher>] <service> {
//		<option of the line, or of the service's own directive>
//	}
func parseService(h httpcaddyfile.Helper) ([]httpcaddyfile.ConfigValue, error) {
	finishExpansion := directive.StartExpansion(h)
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
	if err := CheckService(name); err != nil {
		return nil, h.WrapErr(err)
	}
	if h.NextArg() {
		return nil, h.ArgErr()
	}
	service := registered[name]
	var written userTokens
	values, err := service.read(h.Dispenser, &written)
	if err != nil {
		return nil, err
	}
	long, err := service.expand(values)
	if err != nil {
		return nil, err
	}
	route, err := parseLongForm(h, name, long, written)
	if err != nil {
		return nil, err
	}
	finishExpansion("tollgate " + name) // the name of the text in parseLongForm
	if matcher != nil {
		route.MatcherSetsRaw = caddyhttp.RawMatcherSets{matcher}
	}
	return withHome(h, name, route)
}

// parseLongForm parses a long form to a route. It replaces the marks in long with the user's tokens in groups.
func parseLongForm(
	h httpcaddyfile.Helper, service, long string, groups userTokens,
) (route caddyhttp.Route, err error) {
	// The block around the text makes the text a segment that Caddy can parse.
	tokens, err := caddyfile.Tokenize([]byte("tollgate {\n"+long+"}\n"), "tollgate "+service)
	if err != nil {
		return route, err
	}
	handler, err := httpcaddyfile.ParseSegmentAsSubroute(h.WithDispenser(caddyfile.NewDispenser(groups.insert(tokens))))
	if err != nil {
		return route, err
	}
	return handler.(*caddyhttp.Subroute).Routes[0], nil
}

// read parses the block of the line. It returns the values for the template. The values contain marks; read adds the
// user's tokens for these marks to groups.
func (s *Service) read(d *caddyfile.Dispenser, groups *userTokens) (map[string]any, error) {
	values := make(map[string]any)
	var block []string
	for d.NextBlock(0) {
		name := d.Val()
		i := slices.IndexFunc(s.Options, func(o Option) bool { return o.Name == name })
		switch {
		case i < 0 && slices.Contains(s.Block, name): // its directive reports options that are given twice
			block = append(block, groups.add(d.NextSegment()...))
		case i < 0:
			return nil, directive.NoOption(d, "unknown option %q; there are: %s",
				name, strings.Join(s.optionNames(), ", "))
		case values[name] != nil:
			return nil, d.Errf("%s is given twice", name)
		case s.Options[i].Read == nil: // the option goes unchanged into the long form, whose parser checks it
			values[name] = groups.add(d.NextSegment()...)
		default:
			tokens, err := s.Options[i].Read(d)
			if err != nil {
				return nil, err
			}
			value := make(arguments, len(tokens))
			for n, token := range tokens {
				value[n] = groups.add(token)
			}
			values[name] = value
		}
	}
	for _, o := range s.Options {
		if values[o.Name] != nil && values[o.Excludes] != nil {
			return nil, d.Errf("%s and %s exclude each other: give one of them", o.Name, o.Excludes)
		}
	}
	if block != nil {
		values["block"] = block
	}
	return values, nil
}

// optionNames returns the names of all options that the line `tollgate <name>` accepts, for an error.
func (s *Service) optionNames() []string {
	names := make([]string, 0, len(s.Options)+len(s.Block))
	for _, o := range s.Options {
		names = append(names, o.Name)
	}
	return append(names, s.Block...)
}

// userTokens holds groups of tokens that the user wrote. The text of the long form has a mark in place of each group.
// So the tokens keep their quotes, and errors name the user's file and line.
type userTokens [][]caddyfile.Token

// add adds a group of tokens and returns its mark.
func (w *userTokens) add(tokens ...caddyfile.Token) string {
	*w = append(*w, tokens)
	return tokenMark + strconv.Itoa(len(*w)-1)
}

// tokenMark begins a mark. The long forms do not contain this character.
const tokenMark = "…"

// insert replaces the marks in long with their groups of tokens. Caddy takes tokens from different files to be on
// different lines. So the words in front of a mark get the file and line of the user's first token.
func (w *userTokens) insert(long []caddyfile.Token) []caddyfile.Token {
	tokens := make([]caddyfile.Token, 0, len(long))
	lineStart := 0 // index in tokens of the first token of the current line
	for i, t := range long {
		if i > 0 && t.Line != long[i-1].Line {
			lineStart = len(tokens)
		}
		number, isMark := strings.CutPrefix(t.Text, tokenMark)
		if !isMark {
			tokens = append(tokens, t)
			continue
		}
		n, _ := strconv.Atoi(number) // always a number, because add made the mark
		group := (*w)[n]
		for j := lineStart; j < len(tokens); j++ {
			text := tokens[j].Text
			tokens[j] = group[0] // with the file and the line
			tokens[j].Text = text
		}
		tokens = append(tokens, group...)
	}
	return tokens
}
