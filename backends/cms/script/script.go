// Package script runs the handler classes of a site that are written in JavaScript. The files of a site are CommonJS
// modules. The classes that they export become a [handler.Class] each, whose methods any number of requests may call
// concurrently.
//
// A [Program] is the code of a site at one point in time. Its calls run in worker processes (package worker), each of
// which runs one call at a time. This limits the effects of a handler, and of a client's input, to one process: the
// engine can neither be interrupted within its built-in functions nor limited in its memory. Operations that a script
// requests are performed in this process (type host), with the rights of the calling user. Calls share no state. Data
// for later calls is stored in the cache, which all calls can read, or in the content.
package script

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/backends/cms/routes"
	"github.com/tollgate-gateway/tollgate/backends/cms/script/js"
	"github.com/tollgate-gateway/tollgate/backends/cms/script/wire"
)

// timeout is the default of Options.Timeout.
const timeout = 5 * time.Second

// Options configures an Engine.
type Options struct {
	// Site is the folder of the site.
	Site string
	// Logger returns the logger for the lines that scripts log. It is called for each line.
	Logger func() *zap.Logger
	// Files, Pages, Users, Templates and Fields give scripts access to the site. A nil member is not available to
	// scripts.
	Files     Files
	Pages     Pages
	Users     Users
	Templates Definitions
	Fields    Definitions
	// Config returns the settings that scripts may read, without secrets. It is called whenever a script reads the
	// settings. A nil function means no settings.
	Config func() map[string]any
	// Hosts returns the hosts to which scripts may send requests, as host or host:port; "*.example.com" includes all
	// subdomains. It is called for each request. With no hosts, the default, http.fetch is off.
	Hosts func() []string
	// Networks are private networks to which scripts may nevertheless send requests.
	Networks []netip.Prefix
	// InProcess runs handlers in this process. The engine's built-in functions then have no limits of time and memory.
	InProcess bool
	// Runners limits how many calls run at the same time. Default: 4 for each CPU, at least 8 and at most 64.
	Runners int
	// Wait limits how long a call waits for a runner. Default: 1 s.
	Wait time.Duration
	// Timeout limits the duration of a call whose context has no deadline. Default: 5 s.
	Timeout time.Duration
	// Now is the clock of the cache. The default is time.Now.
	Now func() time.Time
	// Ended is called when a worker process has ended, with the reason: time, memory or died. It may be nil.
	Ended func(reason string)
}

// Engine runs the programs of a site. It owns the cache and the processes, which all programs share.
type Engine struct {
	Options
	cache   *cache
	client  *http.Client
	pool    *pool
	current atomic.Pointer[Program] // the latest program

	mu    sync.Mutex
	stats map[string]*methodStats // of the methods of the latest program, by "class.method"
}

// New returns an engine, without reading files or starting processes yet. The caller must call Close.
func New(o Options) *Engine {
	if o.Runners <= 0 {
		o.Runners = min(max(4*goruntime.GOMAXPROCS(0), 8), 64)
	}
	if o.Wait <= 0 {
		o.Wait = time.Second
	}
	if o.Timeout <= 0 {
		o.Timeout = timeout
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop
	}
	if o.Hosts == nil {
		o.Hosts = func() []string { return nil }
	}
	if o.Ended == nil {
		o.Ended = func(string) {}
	}
	e := &Engine{Options: o, cache: newCache(maxCache, o.Now), client: newClient(o)}
	e.pool = newPool(o.Runners, o.Wait, e.start)
	return e
}

// Close ends the idle processes. A process that runs a call ends after the call. A call that begins after Close gets a
// new process.
func (e *Engine) Close() { e.pool.close() }

// start starts a runner.
func (e *Engine) start() (runner, error) {
	if e.InProcess {
		return new(local), nil
	}
	p, err := startProcess(e.processEnded)
	if err != nil {
		return nil, fmt.Errorf("starting a worker process for handlers (the option isolation none does without "+
			"processes): %w", err)
	}
	if program := e.current.Load(); program != nil {
		if err := p.sendProgram(program); err != nil {
			p.close()
			return nil, err
		}
	}
	return p, nil
}

// processEnded handles the end of a process that the engine has not closed.
func (e *Engine) processEnded(p *process, reason string) {
	e.Ended(reason)
	e.pool.drop(p)
}

// Program is the code of a site at one point in time.
type Program struct {
	engine   *Engine
	sources  *sources
	code     *js.Code // for calls in this process
	classes  map[string]*class
	stats    map[string]*methodStats // by "class.method"
	warnings []*routes.Error
}

// class is a class that a file exports.
type class struct {
	file, export string // if export is empty, the file exports the class itself
	methods      []string
}

// method is a method of a class.
type method struct {
	file, export, class, name string
	stats                     *methodStats
}

// newProgram returns a program without classes.
func (e *Engine) newProgram() (*Program, error) {
	root, err := os.OpenRoot(e.Site)
	if err != nil {
		return nil, fmt.Errorf("opening the site: %w", err)
	}
	p := &Program{engine: e, sources: newSources(root), code: js.NewCode(), classes: make(map[string]*class)}
	goruntime.AddCleanup(p, func(root *os.Root) { _ = root.Close() }, root) // after its last call
	return p, nil
}

// Load returns a program with the given files, which a routes file requires. Their names are relative to the site's
// folder (api/Example.js). The program has the classes that the files export, under the names of the exports. If two
// classes have the same name, the program has the later class. If the code has an error, the returned error is a
// *[routes.Error].
func (e *Engine) Load(files ...string) (*Program, error) {
	p, _, err := e.load(wire.Load, func(buf []byte) []byte {
		buf = wire.AppendUint(buf, uint64(len(files)))
		for _, name := range files {
			buf = wire.AppendText(buf, filepath.ToSlash(name))
		}
		return buf
	})
	return p, err
}

// LoadTable evaluates Routes.js and the files that it requires. The table has the same form as the result of
// routes.Read for Routes.php. The names of its classes are unique, even if two files export classes with the same name.
// If the code has an error, the returned error is a *routes.Error.
func (e *Engine) LoadTable() (routes.Value, *Program, error) {
	p, table, err := e.load(wire.Table, func(buf []byte) []byte { return buf })
	return table, p, err
}

// load loads a program in a runner, within the time and memory limits of a call, and makes it the current program. kind
// is wire.Load or wire.Table, and appendPayload appends the payload of the frame to a buffer. The returned table is
// empty for wire.Load.
func (e *Engine) load(kind byte, appendPayload func([]byte) []byte) (p *Program, table routes.Value, err error) {
	if p, err = e.newProgram(); err != nil {
		return nil, table, err
	}
	r, err := e.pool.borrow()
	if err != nil {
		return nil, table, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), e.Timeout)
	defer cancel()
	h := &host{engine: e, program: p, ctx: ctx, call: &handler.Call{User: handler.User{Name: "guest"}}}
	result, err := r.run(h, kind, appendPayload)
	if err != nil {
		e.pool.putBack(r, false)
		return nil, table, &routes.Error{
			At:      routes.Position{File: "api"},
			Message: "the files of the site cannot be loaded: " + err.Error(),
		}
	}
	if table, err = p.decode(result); err == nil {
		p.stats = e.updateStats(p.classes)
		e.current.Store(p)
	}
	e.pool.putBack(r, true)
	if err != nil {
		return nil, table, err
	}
	return p, table, nil
}

// updateStats sets e.stats to the statistics of the methods of a new program's classes, by "class.method", and returns
// them. A method that the previous program had keeps its statistics, and therefore counts as slow or quick as before.
func (e *Engine) updateStats(classes map[string]*class) map[string]*methodStats {
	e.mu.Lock()
	defer e.mu.Unlock()
	stats := make(map[string]*methodStats)
	for name, c := range classes {
		for _, m := range c.methods {
			key := name + "." + m
			if stats[key] = e.stats[key]; stats[key] == nil {
				stats[key] = new(methodStats)
			}
		}
	}
	e.stats = stats
	return stats
}

// decode decodes the Result of a Load or Table frame: it sets the classes and warnings of p, and returns the routes
// table, which is empty for a Load frame.
func (p *Program) decode(result []byte) (table routes.Value, err error) {
	r := wire.NewReader(result)
	if kind := r.Byte(); kind == wire.Wrong {
		return table, readProblem(r)
	}
	for range r.Len() {
		name, c := r.Text(), &class{file: r.Text(), export: r.Text()}
		for range r.Len() {
			if m := r.Text(); handler.Identifier(m) {
				c.methods = append(c.methods, m)
			}
		}
		if c.export == "" || handler.Identifier(c.export) {
			p.classes[name] = c
		}
	}
	for range r.Len() {
		p.warnings = append(p.warnings, readProblem(r))
	}
	slices.SortFunc(p.warnings, func(a, b *routes.Error) int {
		if order := strings.Compare(a.At.File, b.At.File); order != 0 {
			return order
		}
		return a.At.Line - b.At.Line
	})
	if r.More() {
		table = readTable(r, 0)
	}
	return table, r.Err()
}

// readProblem decodes an error or a warning with its position.
func readProblem(r *wire.Reader) *routes.Error {
	return &routes.Error{At: readPosition(r), Message: r.Text()}
}

// readPosition decodes a position in a file.
func readPosition(r *wire.Reader) routes.Position {
	return routes.Position{File: r.Text(), Line: int(r.Int()), Column: int(r.Int())}
}

// maxTable limits the nesting of a routes table.
const maxTable = 40

// readTable decodes a value of a routes table. depth is the number of values that contain this value. readTable cuts
// off values that are nested deeper than maxTable.
func readTable(r *wire.Reader, depth int) (v routes.Value) {
	kind := r.Byte()
	v.At = readPosition(r)
	switch kind { // the zero Value is null
	case wire.String:
		v.Kind, v.Text = routes.String, r.Text()
	case wire.Class:
		v.Kind, v.Text = routes.Class, r.Text()
	case wire.Int:
		v.Kind, v.Int = routes.Integer, r.Int()
	case wire.True, wire.False:
		v.Kind, v.Bool = routes.Boolean, kind == wire.True
	case wire.List:
		v.Kind = routes.List
		for range r.Len() {
			if depth > maxTable || r.Err() != nil {
				break
			}
			item := routes.Item{Named: r.Bool(), Key: r.Text(), KeyAt: readPosition(r)}
			item.Value = readTable(r, depth+1)
			v.Items = append(v.Items, item)
		}
	}
	return v
}

// Class returns the JavaScript class with the given name. It does not find classes that are written in Go.
func (p *Program) Class(name string) (handler.Class, bool) {
	c, ok := p.classes[name]
	if !ok {
		return handler.Class{}, false
	}
	converted := handler.Class{Name: name, Methods: make(map[string]handler.Func, len(c.methods))}
	for _, methodName := range c.methods {
		m := &method{file: c.file, export: c.export, class: name, name: methodName, stats: p.stats[name+"."+methodName]}
		converted.Methods[methodName] = func(ctx context.Context, call *handler.Call) (any, error) {
			return p.call(ctx, m, call)
		}
	}
	return converted, true
}

// Warnings returns the problems in files that do not keep the files from running, such as unknown sanitizers.
func (p *Program) Warnings() []*routes.Error { return p.warnings }

// call runs a method in a free runner.
func (p *Program) call(ctx context.Context, m *method, c *handler.Call) (any, error) {
	running, err := p.engine.pool.take(ctx, m.stats)
	if err != nil {
		return nil, err
	}
	reusable := false
	defer func() { p.engine.pool.release(running, reusable) }() // also after a panic
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.engine.Timeout)
		defer cancel()
	}
	h := &host{engine: p.engine, program: p, ctx: ctx, call: c, method: m}
	var encodeErr error
	result, err := running.runner.run(h, wire.Call, func(buf []byte) []byte {
		buf, encodeErr = appendCall(buf, m, c)
		return buf
	})
	if err != nil {
		return nil, err
	}
	reusable = true
	if encodeErr != nil {
		return nil, encodeErr
	}
	return h.answer(result)
}

// appendCall appends the payload of a Call frame: the method m, and the parts of the request that most methods need. It
// returns an error if the data of the request cannot be encoded.
func appendCall(buf []byte, m *method, c *handler.Call) ([]byte, error) {
	const requiringFile = "" // no file requires m.file; the name begins with /, which stands for the site's folder
	for _, text := range [...]string{
		requiringFile, "/" + m.file, m.export, m.class, m.name,
		c.Method, c.Path, c.RequestID, c.Address, c.BaseURL,
	} {
		buf = wire.AppendText(buf, text)
	}
	buf = wire.AppendText(wire.AppendInt(buf, c.User.ID), c.User.Name)
	buf = wire.AppendUint(buf, uint64(len(c.User.Roles)))
	for _, role := range c.User.Roles {
		buf = wire.AppendText(buf, role)
	}
	return wire.AppendValue(buf, orEmpty(c.Data))
}
