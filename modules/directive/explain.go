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

// Explain turns an error of loading a Caddyfile into one line with the file, the line number and the cause. Caddy's
// error begins with the path through the JSON instead. text is the content of the Caddyfile filename. Explain returns
// "" if the error does not concern a known directive or global option.
func Explain(filename string, text []byte, err error) string {
	message := serverError(err.Error())
	if _, parseError, ok := strings.Cut(message, "adapting config using caddyfile: "); ok {
		return explainParseError(parseError, filename, text)
	}
	matches := apps.FindAllStringSubmatchIndex(message, -1)
	if matches == nil {
		return ""
	}
	match := matches[len(matches)-1] // the innermost app; an app may load others
	app, cause := message[match[2]:match[3]], message[match[1]:]
	var origin place
	if app == "http" {
		origin, cause = placeOfHandler(filename, text, cause)
	} else {
		origin = placeOfOption(filename, text, app)
	}
	if origin.tokens == nil {
		return ""
	}
	line := origin.line(cause)
	if prefixes := chain.FindAllStringIndex(cause, -1); prefixes != nil {
		cause = cause[prefixes[len(prefixes)-1][1]:]
	}
	return fmt.Sprintf("%s:%d: %s", line.File, line.Line, cause)
}

var (
	// apps matches the parts of an error that introduce the error of an app.
	apps = regexp.MustCompile(`(?:loading |: |^)(\S+) app module: (?:start: )?`)
	// chain matches prefixes that Caddy adds to the error of a module.
	chain = regexp.MustCompile(
		`(?:loading module '[^']*'|(?:loading \S+ modules|provision [a-z0-9_.]+|[a-z0-9_.]+: invalid configuration)): `)
	// tokensFor matches the prefix that Caddy adds to a parse error. The pattern lines matches the suffix, which names the
	// line.
	tokensFor = regexp.MustCompile(`^(?:parsing caddyfile tokens for '[^']*': )+`)
	lines     = regexp.MustCompile(`, at (\S+:\d+)(?: import chain:? \[[^\]]*\])?(?:, at |$)`)
	// variable matches an environment variable that the parser replaces with its value.
	variable = regexp.MustCompile(`\{\$([^{}:]+)\}`)
	// servers and handlers match the parts of an error that name a step through the JSON of the app http. For a named
	// route, Caddy's message has the name of the server and the name of the route swapped.
	servers = regexp.MustCompile(
		`server (\S+): setting up (?:(route handlers)|(error handling routes)|named route '(\S+)' handlers): `)
	handlers = regexp.MustCompile(
		`^(?:provision http\.handlers\.subroute: setting up subroutes: )?(?:route (\d+): )?loading handler modules: position (\d+): (?:loading module '[^']*': )?`)
)

// explainParseError moves the line to the front of a parse error. If the error names several lines, the first is the
// innermost.
func explainParseError(message, filename string, text []byte) string {
	message = tokensFor.ReplaceAllString(message, "")
	match := lines.FindStringSubmatchIndex(message)
	if match == nil {
		return message
	}
	line := message[match[2]:match[3]]
	return line + ": " + message[:match[0]] + unsetVariableHint(line, filename, text)
}

// unsetVariableHint returns a hint if a line uses an environment variable that is not set. The parser replaces such a
// variable with nothing. line is file:number.
func unsetVariableHint(line, filename string, text []byte) string {
	number, ok := strings.CutPrefix(line, filename+":")
	n, err := strconv.Atoi(number)
	fileLines := strings.Split(string(text), "\n")
	if !ok || err != nil || n < 1 || n > len(fileLines) {
		return ""
	}
	for _, match := range variable.FindAllStringSubmatch(fileLines[n-1], -1) {
		if _, isSet := os.LookupEnv(match[1]); !isSet {
			return "; the environment variable " + match[1] + " in this line is not set"
		}
	}
	return ""
}

// serverError extracts the server's error from the message of `reload`.
func serverError(message string) string {
	if _, body, ok := strings.Cut(message, `HTTP 400: {`); ok {
		var response struct {
			Error string `json:"error"`
		}
		if json.NewDecoder(strings.NewReader("{"+body)).Decode(&response) == nil {
			return response.Error
		}
	}
	return message
}

// placeOfHandler returns the place of the directive whose handler an error is about, and the error without the path to
// the handler.
func placeOfHandler(filename string, text []byte, message string) (place, string) {
	var recorded places
	adapted, _, err := caddyconfig.GetAdapter("caddyfile").Adapt(text,
		map[string]any{"filename": filename, optionName: &recorded})
	step := servers.FindStringSubmatchIndex(message)
	if err != nil || step == nil {
		return place{}, ""
	}
	// submatch returns the text of submatch n in message, or "". step holds the indexes of the match.
	submatch := func(n int) string {
		if step[2*n] < 0 {
			return ""
		}
		return message[step[2*n]:step[2*n+1]]
	}
	all := gjson.GetBytes(adapted, "apps.http.servers")
	server := all.Get(gjson.Escape(submatch(1)))
	routes := server.Get("routes")
	var current gjson.Result // the route or handler to which the steps so far lead
	switch {
	case submatch(3) != "": // error handling routes
		routes = server.Get("errors.routes")
	case submatch(4) != "": // a named route: submatch 4 is the server, and 1 the route
		current = all.Get(gjson.Escape(submatch(4))).Get("named_routes").Get(gjson.Escape(submatch(1)))
	}
	message = message[step[1]:]
	for {
		if step = handlers.FindStringSubmatchIndex(message); step == nil {
			break
		}
		if submatch(1) != "" { // otherwise the step is in the named route
			current = routes.Get(submatch(1))
		}
		current = current.Get("handle").Get(submatch(2))
		message = message[step[1]:]
		routes = current.Get("routes") // if the handler is a subroute, the next step is in one of its routes
	}
	index := current.Get(memberName)
	if !index.Exists() {
		return place{}, ""
	}
	return recorded[index.Int()], message
}

// placeOfOption returns the place of an app's global option. The name of the app begins with the name of the option.
func placeOfOption(filename string, text []byte, app string) place {
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
