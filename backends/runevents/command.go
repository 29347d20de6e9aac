package runevents

import (
	"crypto/sha1" //nolint:gosec // the wire format checks bodies by SHA-1
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// The names of the commands that this service executes.
const (
	storeReport    = "store report"
	deactivateNode = "deactivate node"
)

// versions is the range of the accepted versions of a command, both included.
type versions struct{ lowest, highest int }

// commands maps the names of all commands to their accepted versions. Commands with the zero range are known, but this
// service does not execute them.
var commands = map[string]versions{
	"configure expiration":   {},
	deactivateNode:           {3, 3},
	"replace catalog":        {},
	"replace catalog inputs": {},
	"replace facts":          {},
	storeReport:              {5, 8},
}

// commandNames lists the names of all commands in an error.
const commandNames = "configure expiration, deactivate node, replace catalog, replace catalog inputs, replace facts, store report"

// maxWait limits secondsToWaitForCompletion.
const maxWait = 10 * time.Minute

// Command is a submitted command.
type Command struct {
	Name     string
	Version  int
	Certname string
	// Payload is JSON text.
	Payload []byte
	// Zipped is the payload in its original compressed form, if the client has sent it as gzip, and otherwise nil.
	Zipped []byte
}

// submission is a command with the parameters that determine when it is answered.
type submission struct {
	Command
	wait    time.Duration // how long the client waits for the result, if hasWait is true
	hasWait bool          // the parameter secondsToWaitForCompletion is present
}

// invalidError is the error for a command that is refused.
type invalidError struct{ command, certname, detail string }

// Error returns the text for the client.
func (e *invalidError) Error() string {
	return fmt.Sprintf("Command %q for certname %q is invalid. %s", rest.Quote(e.command), rest.Quote(e.certname),
		e.detail)
}

// The URL parameters of a command.
var (
	requiredParameters = []string{"certname", "command", "version"}
	optionalParameters = []string{"checksum", "producer-timestamp", "secondsToWaitForCompletion"}
)

// fromParameters parses a command whose name, version and certname are URL parameters, and whose payload is the body.
func fromParameters(parameters url.Values, body []byte) (c submission, err error) {
	c.Name = strings.ReplaceAll(parameters.Get("command"), "_", " ")
	c.Certname = parameters.Get("certname")
	refuse := func(format string, args ...any) (submission, error) {
		return c, &invalidError{c.Name, c.Certname, fmt.Sprintf(format, args...)}
	}
	var unknown, missing []string
	for name := range parameters {
		if !slices.Contains(requiredParameters, name) && !slices.Contains(optionalParameters, name) {
			unknown = append(unknown, rest.Quote(name))
		}
	}
	for _, name := range requiredParameters {
		if !parameters.Has(name) {
			missing = append(missing, name)
		}
	}
	slices.Sort(unknown)
	switch {
	case len(missing) > 0:
		return refuse("Command is missing required parameters: %s.", strings.Join(missing, ", "))
	case len(unknown) > 0:
		return refuse("Command has invalid parameters: %s.", strings.Join(unknown[:min(len(unknown), 10)], ", "))
	}
	for name, values := range parameters {
		if len(values) > 1 {
			return refuse("Parameter %s is given more than once.", name)
		}
	}
	version, err := strconv.Atoi(parameters.Get("version"))
	if err != nil {
		return refuse("Version must be a valid integer.")
	}
	c.Version, c.Payload = version, body
	if err := c.check(true); err != nil {
		return c, err
	}
	if text := parameters.Get("secondsToWaitForCompletion"); parameters.Has("secondsToWaitForCompletion") {
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || !(seconds >= 0) || seconds > maxWait.Seconds() { // NaN is refused, too
			return refuse("secondsToWaitForCompletion must be a number from 0 to %d.", int(maxWait.Seconds()))
		}
		c.hasWait, c.wait = true, time.Duration(seconds*float64(time.Second))
	}
	if text := parameters.Get("producer-timestamp"); text != "" {
		if _, ok := parseInstant([]byte(text)); !ok {
			return refuse("producer-timestamp must be a time such as 2026-03-02T10:27:54.161Z.")
		}
	}
	if sent := parameters.Get("checksum"); sent != "" && !checksumMatches(sent, c.Command) {
		return refuse("The checksum is not that of the body.")
	}
	return c, nil
}

// checksumMatches reports whether checksum is the SHA-1 of the payload or, as servers of agents compute it, of the
// whole command as a JSON object.
func checksumMatches(checksum string, c Command) bool {
	checksum = strings.ToLower(checksum)
	payloadSum := sha1.Sum(c.Payload) //nolint:gosec // as above
	if subtle.ConstantTimeCompare([]byte(checksum), []byte(hex.EncodeToString(payloadSum[:]))) == 1 {
		return true
	}
	for _, name := range []string{c.Name, strings.ReplaceAll(c.Name, " ", "_")} {
		head := strconv.AppendInt(append(jsontext.AppendQuoted([]byte(`{"command":`), name), `,"version":`...),
			int64(c.Version), 10)
		head = append(jsontext.AppendQuoted(append(head, `,"certname":`...), c.Certname), `,"payload":`...)
		h := sha1.New() //nolint:gosec // as above
		h.Write(head)
		h.Write(c.Payload)
		h.Write([]byte{'}'})
		if subtle.ConstantTimeCompare([]byte(checksum), []byte(hex.EncodeToString(h.Sum(nil)))) == 1 {
			return true
		}
	}
	return false
}

// fromBody parses a command in the older form: a JSON object in the body, which contains the name, the version and
// the payload. The scanner stores its first error and returns it from its method end, so fromBody checks for an error
// only after the object has been scanned.
func fromBody(body []byte) (c submission, err error) {
	if !utf8.Valid(body) {
		return c, errors.New("the command is not UTF-8")
	}
	s := newScanner(body)
	var hasName, hasVersion bool
	var name []byte
	for s.object(); s.member(&name); {
		switch string(name) {
		case "command":
			c.Name, hasName = strings.ReplaceAll(s.string(), "_", " "), true
		case "version":
			c.Version, hasVersion = int(s.integer()), true
		case "certname":
			if !s.null() {
				c.Certname = s.string()
			}
		case "payload":
			c.Payload = s.raw()
		default:
			s.fail("a command has no member %q", rest.Quote(string(name)))
		}
	}
	if err := s.end(); err != nil {
		return c, fmt.Errorf("the command cannot be read: %w", err)
	}
	var missing []string
	if !hasName {
		missing = append(missing, "command")
	}
	if c.Payload == nil {
		missing = append(missing, "payload")
	}
	if !hasVersion {
		missing = append(missing, "version")
	}
	if len(missing) > 0 {
		return c, &invalidError{c.Name, c.Certname, "Command is missing required parameters: " + strings.Join(missing, ", ") +
			"."}
	}
	return c, c.check(false)
}

// check returns an *invalidError if the command is refused independently of its payload. If needsCertname is true, a
// command without a certname is refused.
func (c *Command) check(needsCertname bool) error {
	var detail string
	known, ok := commands[c.Name]
	switch {
	case needsCertname && strings.TrimSpace(c.Certname) == "":
		detail = "Certname must be a non-empty string."
	case len(c.Certname) > maxName || !utf8.ValidString(c.Certname) || strings.ContainsRune(c.Certname, 0):
		detail = fmt.Sprintf("Certname must be text of at most %d bytes.", maxName)
	case !ok:
		detail = "Command must be one of: " + commandNames + "."
	case known.highest == 0:
		detail = fmt.Sprintf("Command %q is not supported; this service stores reports only.", c.Name)
	case c.Version < known.lowest:
		detail = fmt.Sprintf("Version %d of command %q is retired. The minimum supported version is %d.",
			c.Version, c.Name, known.lowest)
	case c.Version > known.highest:
		detail = fmt.Sprintf("Version %d of command %q is not known. The maximum supported version is %d.",
			c.Version, c.Name, known.highest)
	default:
		return nil
	}
	return &invalidError{c.Name, c.Certname, detail}
}
