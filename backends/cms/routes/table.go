package routes

import (
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
)

// maxPath limits the length of a path below the endpoint, in bytes. No route matches a longer path.
const maxPath = 8192

// Route is an entry together with the method that it calls.
type Route struct {
	Entry
	// Call calls the method.
	Call handler.Func
	// Default reports whether the route is built in, and not defined by the site.
	Default bool
}

// Resolve returns the method for an entry, or an error if the class or the method does not exist.
type Resolve func(e Entry) (handler.Func, error)

// Table finds the route for a request. A Table is immutable.
type Table struct {
	routes   []*Route            // in their order
	static   map[string][]*Route // routes for paths without parameters, by path
	patterns node                // root of the tree of the other routes
}

// node is a node in the tree of patterns. Each level of the tree is a segment.
type node struct {
	literal map[string]*node // children for segments without parameters, by their text
	any     *node            // child for segments with parameters
	ends    []*variant       // variants that end at this node
	tails   []*variant       // variants whose last segment matches the rest of the path
}

// variant is an endpoint with a certain number of its optional suffixes; see parse.
type variant struct {
	route    *Route
	order    int // position of the route in the table
	segments []segment
	tail     bool // whether the last segment matches the rest of the path
}

// NewTable returns a table with the entries of a site, followed by the defaults that the site does not define itself.
// It returns an *Error if resolve does not find a method, a pattern is invalid, an entry is a duplicate, or an
// earlier pattern hides a static path.
func NewTable(entries, defaults []Entry, resolve Resolve) (*Table, error) {
	t := &Table{static: make(map[string][]*Route)}
	compile := make(compiler)
	for i, e := range slices.Concat(entries, defaults) {
		if err := t.add(&Route{Entry: e, Default: i >= len(entries)}, compile, resolve); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// add finds the method of a route and adds each variant of the route's endpoint. A default route is left out if the
// site has routes for all its variants.
func (t *Table) add(r *Route, compile compiler, resolve Resolve) error {
	if r.Class == "" {
		return errorAt(r.At, "the route has no class")
	}
	call, err := resolve(r.Entry)
	if err != nil {
		return errorAt(r.At, "%s", err)
	}
	r.Call = call
	variants, err := parse(r.Endpoint)
	if err != nil {
		return errorAt(r.At, "the endpoint %q %s", r.Endpoint, err)
	}
	order, addedAny := len(t.routes), false
	for _, pieces := range variants {
		segments, tail, err := compile.variant(pieces)
		if err != nil {
			return errorAt(r.At, "the endpoint %q %s", r.Endpoint, err)
		}
		if isStatic(segments) {
			added, err := t.addStatic(r, segments)
			if err != nil {
				return err
			}
			addedAny = addedAny || added
			continue
		}
		t.patterns.add(&variant{r, order, segments, tail})
		addedAny = true
	}
	if addedAny {
		t.routes = append(t.routes, r)
	}
	return nil
}

// addStatic adds a route for a path without parameters. added is false for a default route that the site defines
// itself.
func (t *Table) addStatic(r *Route, segments []segment) (added bool, err error) {
	words := make([]string, len(segments))
	for i, s := range segments {
		words[i] = s.literal
	}
	path := strings.Join(words, "/")
	for _, previous := range t.static[path] {
		if previous.Method == r.Method {
			if r.Default {
				return false, nil
			}
			return false, errorAt(r.At, "%s /%s is defined twice, first at %s", r.Method, path, previous.At)
		}
	}
	if !r.Default {
		var buffer [8]*variant // avoids an allocation
		for _, v := range t.patterns.collect(path, buffer[:0]) {
			if v.route.Method != r.Method {
				continue
			}
			if _, ok := v.match(path, nil); ok {
				return false, errorAt(r.At, "%s /%s is hidden by the earlier pattern /%s at %s: move it before the pattern",
					r.Method, path, v.route.Endpoint, v.route.At)
			}
		}
	}
	t.static[path] = append(t.static[path], r)
	return true, nil
}

// isStatic reports whether the segments have no parameters.
func isStatic(segments []segment) bool {
	return !slices.ContainsFunc(segments, func(s segment) bool { return len(s.params) > 0 })
}

// add inserts a variant into the tree below n, one level for each segment. A variant with a tail is stored at the node
// of the segment before the tail.
func (n *node) add(v *variant) {
	for i, s := range v.segments {
		if v.tail && i == len(v.segments)-1 {
			n.tails = append(n.tails, v)
			return
		}
		if len(s.params) > 0 {
			if n.any == nil {
				n.any = new(node)
			}
			n = n.any
			continue
		}
		if n.literal == nil {
			n.literal = make(map[string]*node)
		}
		child := n.literal[s.literal]
		if child == nil {
			child = new(node)
			n.literal[s.literal] = child
		}
		n = child
	}
	n.ends = append(n.ends, v)
}

// collect appends to found the variants whose literal segments agree with path, so that they may match.
func (n *node) collect(path string, found []*variant) []*variant {
	found = append(found, n.tails...)
	segment, rest, hasRest := strings.Cut(path, "/")
	if child := n.literal[segment]; child != nil {
		found = child.collectRest(rest, hasRest, found)
	}
	if n.any != nil {
		found = n.any.collectRest(rest, hasRest, found)
	}
	return found
}

// collectRest continues collect at the child node n. rest is the path after the child's segment and its slash; hasRest
// reports whether there is a slash. Without a rest, the variants that end at n match.
func (n *node) collectRest(rest string, hasRest bool, found []*variant) []*variant {
	if hasRest {
		return n.collect(rest, found)
	}
	return append(found, n.ends...)
}

// match reports whether the path matches the variant. It appends the values of the parameters to values and returns
// the result.
func (v *variant) match(path string, values []string) ([]string, bool) {
	for i, s := range v.segments {
		text, rest, _ := strings.Cut(path, "/")
		if v.tail && i == len(v.segments)-1 {
			text = path
		}
		path = rest
		ok := true
		switch {
		case len(s.params) == 0: // the tree has compared the literal already
		case s.match == nil:
			ok = text != ""
			values = append(values, text)
		default:
			values, ok = s.match.find(text, values)
		}
		if !ok {
			return values, false
		}
	}
	return values, true
}

// Match is the result of Find.
type Match struct {
	Route  *Route
	Params map[string]string // nil if the route has no parameters
	// Allow lists the methods of the path, sorted, if the request has another method. It is nil if the path has no
	// routes.
	Allow []string
}

// Find returns the route for a request. path is relative to the endpoint; slashes at both ends are ignored. Static
// routes take precedence over patterns, and earlier patterns over later ones. HEAD uses the route of GET if the path
// has no route for HEAD.
func (t *Table) Find(method, path string) Match {
	path = strings.Trim(path, "/")
	if len(path) > maxPath {
		return Match{}
	}
	match := t.find(method, path)
	if method != "HEAD" || match.Route != nil && match.Route.Method == "HEAD" {
		return match
	}
	return t.find("GET", path) // for HEAD, a route for GET takes precedence over a route for *
}

// find returns the route for a method and path. Static endpoints come first, then patterns in the order of the
// routes. If only the method does not match, Match.Allow lists the methods of the path.
func (t *Table) find(method, path string) Match {
	static := t.static[path]
	for _, r := range static {
		if r.Method == method || r.Method == "*" {
			return Match{Route: r}
		}
	}
	// The arrays avoid allocations.
	var candidateBuffer [8]*variant
	var valueBuffer [4]string
	candidates := t.patterns.collect(path, candidateBuffer[:0])
	if len(candidates) > 1 {
		slices.SortFunc(candidates, func(a, b *variant) int { return a.order - b.order })
	}
	var allow []string // methods of the routes that match the path but not the method
	for _, v := range candidates {
		values, ok := v.match(path, valueBuffer[:0])
		if !ok {
			continue
		}
		if v.route.Method == method || v.route.Method == "*" {
			return Match{Route: v.route, Params: v.params(values)}
		}
		allow = append(allow, v.route.Method)
	}
	for _, r := range static {
		allow = append(allow, r.Method)
	}
	if slices.Contains(allow, "GET") {
		allow = append(allow, "HEAD")
	}
	slices.Sort(allow)
	return Match{Allow: slices.Compact(allow)}
}

// params returns the values of the path parameters by name. values are in the order in which match returns them.
func (v *variant) params(values []string) map[string]string {
	params := make(map[string]string, len(values))
	i := 0
	for _, s := range v.segments {
		for _, name := range s.params {
			params[name] = values[i]
			i++
		}
	}
	return params
}

// Routes returns all routes in their order. The caller must not modify them.
func (t *Table) Routes() []*Route { return t.routes }
