package directive

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/tidwall/gjson"
)

// Explain tells of an error of loading a Caddyfile, which has the way through the JSON
// before what went wrong, the file and line and what went wrong. Empty: it is of no
// directive or global option that is known.
func Explain(filename string, text []byte, err error) string {
	message := served(err.Error())
	if _, words, ok := strings.Cut(message, "adapting config using caddyfile: "); ok {
		return parsed(words, filename, text)
	}
	ways := apps.FindAllStringSubmatchIndex(message, -1)
	if ways == nil {
		return ""
	}
	way := ways[len(ways)-1] // an app may load others
	app, words := message[way[2]:way[3]], message[way[1]:]
	var at place
	if app == "http" {
		at, words = ofHandler(filename, text, words)
	} else {
		at = ofOption(filename, text, app)
	}
	if at.tokens == nil {
		return ""
	}
	where := at.line(words)
	if ends := chain.FindAllStringIndex(words, -1); ends != nil {
		words = words[ends[len(ends)-1][1]:]
	}
	return fmt.Sprintf("%s:%d: %s", where.File, where.Line, words)
}

var (
	// apps are the parts of an error at which an app begins to fail.
	apps = regexp.MustCompile(`(?:loading |: |^)(\S+) app module: (?:start: )?`)
	// chain is what Caddy puts before the error of a module.
	chain = regexp.MustCompile(`(?:loading module '[^']*'|(?:loading \S+ modules|provision [a-z0-9_.]+|[a-z0-9_.]+: invalid configuration)): `)
	// tokensFor is what Caddy puts before an error of parsing, and lines what it puts behind.
	tokensFor = regexp.MustCompile(`^(?:parsing caddyfile tokens for '[^']*': )+`)
	lines     = regexp.MustCompile(`, at (\S+:\d+)(?: import chain:? \[[^\]]*\])?(?:, at |$)`)
	// variable is what parsing puts the value of an environment variable in the place of.
	variable = regexp.MustCompile(`\{\$([^{}:]+)\}`)
	// servers and handlers are steps through the JSON of the app http. Caddy has mixed up
	// the two names of a named route.
	servers  = regexp.MustCompile(`server (\S+): setting up (?:(route handlers)|(error handling routes)|named route '(\S+)' handlers): `)
	handlers = regexp.MustCompile(`^(?:provision http\.handlers\.subroute: setting up subroutes: )?(?:route (\d+): )?loading handler modules: position (\d+): (?:loading module '[^']*': )?`)
)

// parsed is an error of parsing with its line in front. The first line that it names is
// the innermost one.
func parsed(words, filename string, text []byte) string {
	words = tokensFor.ReplaceAllString(words, "")
	at := lines.FindStringSubmatchIndex(words)
	if at == nil {
		return words
	}
	return words[at[2]:at[3]] + ": " + words[:at[0]] + unset(words[at[2]:at[3]], filename, text)
}

// unset tells of a variable in a line that is not set: parsing has nothing in its place.
func unset(where, filename string, text []byte) string {
	number, ok := strings.CutPrefix(where, filename+":")
	n, err := strconv.Atoi(number)
	all := strings.Split(string(text), "\n")
	if !ok || err != nil || n < 1 || n > len(all) {
		return ""
	}
	for _, found := range variable.FindAllStringSubmatch(all[n-1], -1) {
		if _, ok := os.LookupEnv(found[1]); !ok {
			return "; the environment variable " + found[1] + " in this line is not set"
		}
	}
	return ""
}

// served is an error as a server tells it to `reload`.
func served(message string) string {
	if _, body, ok := strings.Cut(message, `HTTP 400: {`); ok {
		var told struct {
			Error string `json:"error"`
		}
		if json.NewDecoder(strings.NewReader("{"+body)).Decode(&told) == nil {
			return told.Error
		}
	}
	return message
}

// ofHandler finds the directive whose handler an error is of, and what is behind the way
// to it.
func ofHandler(filename string, text []byte, words string) (place, string) {
	var noted places
	adapted, _, err := caddyconfig.GetAdapter("caddyfile").Adapt(text, map[string]any{"filename": filename, optionName: &noted})
	step := servers.FindStringSubmatchIndex(words)
	if err != nil || step == nil {
		return place{}, ""
	}
	name := func(i int) string {
		if step[i] < 0 {
			return ""
		}
		return words[step[i]:step[i+1]]
	}
	all := gjson.GetBytes(adapted, "apps.http.servers")
	server := all.Get(gjson.Escape(name(2)))
	var handler gjson.Result
	routes := server.Get("routes")
	switch {
	case name(6) != "":
		routes = server.Get("errors.routes")
	case name(8) != "":
		handler = all.Get(gjson.Escape(name(8))).Get("named_routes").Get(gjson.Escape(name(2)))
	}
	for words = words[step[1]:]; ; routes = handler.Get("routes") {
		if step = handlers.FindStringSubmatchIndex(words); step == nil {
			break
		}
		if step[2] >= 0 {
			handler = routes.Get(name(2))
		}
		handler = handler.Get("handle").Get(name(4))
		words = words[step[1]:]
	}
	at := handler.Get(memberName)
	if !at.Exists() {
		return place{}, ""
	}
	return noted[at.Int()], words
}

// ofOption finds the global option of an app, whose name begins with that of the option.
func ofOption(filename string, text []byte, app string) place {
	blocks, err := caddyfile.Parse(filename, text)
	if err != nil || len(blocks) == 0 || len(blocks[0].Keys) > 0 {
		return place{}
	}
	option, _, _ := strings.Cut(app, ".")
	for _, segment := range blocks[0].Segments {
		if segment.Directive() == option {
			return place{tokens: segment}
		}
	}
	return place{}
}
