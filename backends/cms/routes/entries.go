package routes

import (
	"strings"
	"time"
	"unicode"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/backends/cms/header"
)

const (
	// maxEntries limits the number of routes of a table.
	maxEntries = 100_000
	// maxEndpoint limits the length of an endpoint with the prefixes of its groups, in bytes.
	maxEndpoint = 2048
	// Limits of the options.
	maxBodyLimit = 64 << 20
	maxTimeout   = time.Minute
)

// Entry is one route of the routes file.
type Entry struct {
	Method   string // upper case; * means any method
	Endpoint string // pattern with the prefixes of its groups, without slashes at the ends; empty for the root
	Class    string
	Func     string // name of the method of the class
	Options  Options
	At       Position
}

// Options are the options of a route. They are the fifth element of a route in the routes file.
type Options struct {
	// Auth requires authorization. Default: true.
	Auth bool
	// Roles are the names of the roles that may call the route. If the list is empty, every user may call it. In the
	// authorization mode none, no caller has a role.
	Roles []string
	// BodyLimit limits the body of a request, in bytes, from 0 to 64 MiB. Default: 1 MiB.
	BodyLimit int64
	// Timeout limits the duration of a call, from 1 ms to 1 minute. Default: 5 s.
	Timeout time.Duration
	// CORS allows the origins in the settings to call the route from a browser. Default: true.
	CORS bool
	// Stream passes the unread body to the method. A routes file cannot set this option.
	Stream bool
}

// Defaults returns the options of a route without options.
func Defaults() Options {
	return Options{Auth: true, BodyLimit: 1 << 20, Timeout: 5 * time.Second, CORS: true}
}

// Entries converts the value of a routes file to a list of entries. The table is a list of items of three forms:
//
//	['GET', 'shop', 'Shop', 'list']              an entry
//	'v1' => [['GET', 'shop', 'Shop', 'list']]    a group, whose routes are served below v1
//	['v1' => [['GET', 'shop', 'Shop', 'list']]]  a map of groups, as JavaScript writes it
//
// Groups can be nested. The error is an *Error.
func Entries(table Value) ([]Entry, error) {
	if table.Kind != List {
		return nil, errorAt(table.At, "the routes table must be a list, not %s", table.Kind)
	}
	var e entries
	if err := e.list(table, ""); err != nil {
		return nil, err
	}
	return e.all, nil
}

// entries collects the entries of a table, in their order.
type entries struct{ all []Entry }

// list adds the entries and groups in a list. prefix is the path of the surrounding groups, such as "v1/", or empty.
func (e *entries) list(list Value, prefix string) *Error {
	groups := make(map[string]bool)
	for _, item := range list.Items {
		var err *Error
		switch {
		case item.Named:
			if groups[item.Key] {
				return errorAt(item.KeyAt, "the group %q is defined twice", item.Key)
			}
			groups[item.Key] = true
			err = e.group(item, prefix)
		case item.Value.Kind != List:
			err = errorAt(item.Value.At, "a route must be a list of method, endpoint, class and method name, not %s",
				item.Value.Kind)
		case len(item.Value.Items) > 0 && item.Value.Items[0].Named: // a map of groups
			for _, inner := range item.Value.Items {
				if !inner.Named {
					return errorAt(inner.Value.At, "a map of groups contains a route: put the route into a group or into the list")
				}
			}
			err = e.list(item.Value, prefix)
		default:
			err = e.entry(item.Value, prefix)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// group adds the routes of a group. Their endpoints begin with prefix and the name of the group.
func (e *entries) group(item Item, prefix string) *Error {
	name := strings.Trim(item.Key, "/")
	if name == "" {
		return errorAt(item.KeyAt, "a group has no name")
	}
	if strings.ContainsAny(name, "{}[]") {
		return errorAt(item.KeyAt, "the name of the group %q must not contain a pattern", item.Key)
	}
	if item.Value.Kind != List {
		return errorAt(item.Value.At, "the group %q must be a list of routes, not %s", item.Key, item.Value.Kind)
	}
	// A list that begins with a string is a single route whose brackets are missing.
	if len(item.Value.Items) > 0 && item.Value.Items[0].Value.Kind == String && !item.Value.Items[0].Named {
		return errorAt(item.Value.At, "the group %q must be a list of routes, each in its own brackets", item.Key)
	}
	return e.list(item.Value, prefix+name+"/")
}

// entry validates a route, which is a list of four or five values, and adds it. The endpoint of the route begins with
// prefix.
func (e *entries) entry(list Value, prefix string) *Error {
	for _, item := range list.Items {
		if item.Named {
			return errorAt(item.KeyAt,
				"a route must not have keys: it consists of method, endpoint, class, method name and options in this order")
		}
	}
	n := len(list.Items)
	if n < 4 || n > 5 {
		return errorAt(list.At, "a route has four or five positions (method, endpoint, class, method name, options), not %d", n)
	}
	element := func(i int) Value { return list.Items[i].Value }
	for i, kind := range [4]Kind{String, String, Class, String} {
		if element(i).Kind != kind {
			name := [...]string{"method", "endpoint", "class", "method name"}[i]
			return errorAt(element(i).At, "the %s must be %s, not %s", name, kind, element(i).Kind)
		}
	}
	entry := Entry{
		Method: strings.ToUpper(element(0).Text), Endpoint: strings.Trim(prefix+strings.TrimLeft(element(1).Text, "/"), "/"),
		Class: element(2).Text, Func: element(3).Text, Options: Defaults(), At: list.At,
	}
	if entry.Method != "*" && header.Check(entry.Method, "") != nil { // methods and header names have the same syntax
		return errorAt(element(0).At, "%q is not an HTTP method", element(0).Text)
	}
	if fault := checkEndpoint(entry.Endpoint); fault != "" {
		return errorAt(element(1).At, "the endpoint %q %s", entry.Endpoint, fault)
	}
	if !handler.Identifier(entry.Func) {
		return errorAt(element(3).At, "%q is not a valid method name", entry.Func)
	}
	if n == 5 {
		if err := options(element(4), &entry.Options); err != nil {
			return err
		}
	}
	if len(e.all) == maxEntries {
		return errorAt(list.At, "more than %d routes", maxEntries)
	}
	e.all = append(e.all, entry)
	return nil
}

// checkEndpoint returns a description of the first fault in an endpoint, such as "is too long", or an empty string. It
// does not check the patterns of parameters, because the compiler checks them.
func checkEndpoint(endpoint string) string {
	if len(endpoint) > maxEndpoint {
		return "is too long"
	}
	if strings.ContainsFunc(endpoint, func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }) {
		return "has control characters"
	}
	return ""
}

// options reads the options of a route into o.
func options(v Value, o *Options) *Error {
	if v.Kind != List {
		return errorAt(v.At, "the options must be a map, not %s", v.Kind)
	}
	names := make(map[string]bool, len(v.Items))
	for _, item := range v.Items {
		if !item.Named {
			return errorAt(item.Value.At, "an option must have a name, as in 'auth' => false")
		}
		if names[item.Key] {
			return errorAt(item.KeyAt, "the option %q is set twice", item.Key)
		}
		names[item.Key] = true
		if err := option(item, o); err != nil {
			return err
		}
	}
	if !o.Auth && len(o.Roles) > 0 {
		return errorAt(v.At, "the option \"roles\" needs authorization: remove it, or remove 'auth' => false")
	}
	return nil
}

// option validates an option of a route and sets it in o. After an error, o must not be used.
func option(item Item, o *Options) *Error {
	v := item.Value
	checkKind := func(kind Kind) *Error {
		if v.Kind == kind {
			return nil
		}
		return errorAt(v.At, "the option %q must be %s, not %s", item.Key, kind, v.Kind)
	}
	checkRange := func(minimum, maximum int64) *Error {
		if err := checkKind(Integer); err != nil {
			return err
		}
		if v.Int < minimum || v.Int > maximum {
			return errorAt(v.At, "the option %q must be from %d to %d", item.Key, minimum, maximum)
		}
		return nil
	}
	var err *Error
	switch item.Key {
	case "auth":
		err, o.Auth = checkKind(Boolean), v.Bool
	case "cors":
		err, o.CORS = checkKind(Boolean), v.Bool
	case "bodyLimit":
		err, o.BodyLimit = checkRange(0, maxBodyLimit), v.Int
	case "timeoutMs":
		err, o.Timeout = checkRange(1, maxTimeout.Milliseconds()), time.Duration(v.Int)*time.Millisecond
	case "roles":
		if err := checkKind(List); err != nil {
			return err
		}
		for _, role := range v.Items {
			if role.Named || role.Value.Kind != String || role.Value.Text == "" {
				return errorAt(role.Value.At, "the option \"roles\" must be a list of role names")
			}
			o.Roles = append(o.Roles, role.Value.Text)
		}
		if len(o.Roles) == 0 {
			return errorAt(v.At, "the option \"roles\" is empty: name a role, or remove the option to admit all users")
		}
	default:
		return errorAt(item.KeyAt, "unknown option %q; the options are auth, roles, bodyLimit, timeoutMs and cors", item.Key)
	}
	return err
}
