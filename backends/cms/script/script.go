// Package script runs the handler classes that a site has in JavaScript. The files of a
// site are CommonJS; the classes they export become methods of [handler.Class], which any
// number of requests may call.
//
// A [Program] is the code of a site as it was at one moment. It has a pool of runtimes,
// each of which runs one call at a time. No call sees what another one has left:
// the built-in objects are frozen, and what a file declares is either such that nothing
// can be left in it, and frozen too, or it is made anew for each call. What is to stay is
// kept in the cache, which all share, or in the content.
//
// The engine cannot tell how much memory a script has taken. Helpers that take much are
// bounded, and a call beside which the memory of the process grows fast is ended; but
// code of a site is trusted: whoever may write it may stop the service.
package script

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"time"

	"github.com/dop251/goja"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/backends/cms/routes"
)

// Options of an engine.
type Options struct {
	// Site is the folder of the site.
	Site string
	// Logger takes what scripts log. It is asked each time.
	Logger func() *zap.Logger
	// Pages, Users, Templates and Fields are what scripts may ask for; nil: it is not there.
	// Files are those of pages. Default: there are none.
	Files     Files
	Pages     Pages
	Users     Users
	Templates Definitions
	Fields    Definitions
	// Config is what scripts may know of the settings, no secrets. It is asked once a call
	// that reads it. Default: nothing.
	Config func() map[string]any
	// Hosts may be fetched from, as host or host:port; "*.example.com" are all below one.
	// Default: none, http.fetch is off.
	Hosts []string
	// Networks are those that are not public and may be fetched from.
	Networks []netip.Prefix
	// Runtimes is how many calls run at a time. Default: 4 for each CPU, 8 to 64.
	Runtimes int
	// Wait is how long a call waits for a runtime. Default: 1 s.
	Wait time.Duration
	// Timeout is how long a call may take whose context has no deadline. Default: 5 s.
	Timeout time.Duration
	// Now is the clock of the cache. Default: time.Now.
	Now func() time.Time
}

// Engine makes programs of a site's code. What outlives a program is of it: the cache.
type Engine struct {
	Options
	timeout time.Duration
	cache   *cache
	client  *http.Client
}

// New makes an engine. It reads nothing.
func New(o Options) *Engine {
	if o.Runtimes <= 0 {
		o.Runtimes = min(max(4*goruntime.GOMAXPROCS(0), 8), 64)
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
	return &Engine{Options: o, timeout: o.Timeout, cache: newCache(maxCache, o.Now), client: newClient(o)}
}

// Program is the code of a site as it was at one moment.
type Program struct {
	engine  *Engine
	sources *sources
	classes map[string]*class // by name
	free    chan *runtime     // nil: one that is to be made
}

// class is one that a file exports.
type class struct {
	source  *source
	export  string // empty: the file exports the class itself
	methods []string
}

// method is one of a class.
type method struct {
	source              *source
	export, class, name string
}

// program makes one without any class.
func (e *Engine) program() (*Program, error) {
	root, err := os.OpenRoot(e.Site)
	if err != nil {
		return nil, fmt.Errorf("opening the site: %w", err)
	}
	p := &Program{
		engine: e, sources: &sources{root: root, files: make(map[string]*source)}, classes: make(map[string]*class), free: make(chan *runtime, e.Runtimes),
	}
	goruntime.AddCleanup(p, func(root *os.Root) { _ = root.Close() }, root) // when its last call is over
	for range e.Runtimes - 1 {
		p.free <- nil
	}
	return p, nil
}

// Load makes a program of files that a routes file requires, named from the site's folder
// on (api/Example.js). Their classes are those that they export, by the names of the
// exports; a later file's goes before. The error is a *[routes.Error] where it is one
// of the code.
func (e *Engine) Load(files ...string) (*Program, error) {
	p, err := e.program()
	if err != nil {
		return nil, err
	}
	rt, err := newRuntime(p)
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		err := p.first(rt, func() error {
			found, err := p.sources.find("", "/"+filepath.ToSlash(name))
			if err != nil {
				return err
			}
			exports, err := rt.load(found)
			if err != nil {
				return err
			}
			return p.exported(rt, found, exports)
		})
		if err != nil {
			return nil, asProblem(name, err)
		}
	}
	p.free <- rt
	return p, nil
}

// first runs what is run before the first request, within the limits of one. What is read of a script, such as a
// getter among its exports, may be code of it.
func (p *Program) first(rt *runtime, fn func() error) error {
	rt.begin(context.Background(), &handler.Call{User: handler.User{Name: "guest"}})
	var err error
	if broken := rt.do(func() { err = fn() }); broken != nil {
		err = broken
	}
	if err != nil {
		err = rt.reason(err)
	}
	rt.end()
	return err
}

// asProblem tells an error of the code with the place in it.
func asProblem(name string, err error) error {
	if p, ok := errors.AsType[*routes.Error](err); ok {
		return p
	}
	made := problem(name, 0, 0, err.Error())
	at, _, _ := strings.Cut(Stack(err), "\n")
	if open := strings.LastIndexByte(at, '('); open >= 0 {
		at = strings.TrimSuffix(at[open+1:], ")")
	}
	if parts := strings.Split(at, ":"); len(parts) == 3 {
		if line, column := atoi(parts[1]), atoi(parts[2]); line > 0 {
			if line == 1 {
				column = max(column-len(before), 1)
			}
			made.At = routes.Position{File: parts[0], Line: line, Column: column}
		}
	}
	return made
}

func atoi(s string) (n int) {
	for _, c := range s {
		if c < '0' || c > '9' || n > 1<<24 {
			return 0
		}
		n = 10*n + int(c-'0')
	}
	return n
}

// exported finds the classes of a file.
func (p *Program) exported(rt *runtime, s *source, exports goja.Value) error {
	object, ok := exports.(*goja.Object)
	if !ok {
		return nil
	}
	if _, ok := goja.AssertFunction(object); ok { // module.exports = class …
		name := object.Get("name").String()
		p.classes[name] = &class{s, "", methods(rt, object)}
	}
	for _, key := range object.Keys() {
		value, ok := object.Get(key).(*goja.Object)
		if !ok || !handler.Identifier(key) {
			continue
		}
		if found := methods(rt, value); len(found) > 0 || value.ClassName() == "Function" {
			p.classes[key] = &class{s, key, found}
		}
	}
	return nil
}

// methods are the static methods of a class, and those that it inherits; also the
// functions of a plain object.
func methods(rt *runtime, object *goja.Object) (found []string) {
	for o := object; o != nil; o = o.Prototype() {
		if o.Prototype() == nil || o == rt.function { // what all objects, all functions have
			break
		}
		for _, name := range o.GetOwnPropertyNames() {
			if !handler.Identifier(name) || slices.Contains(found, name) || name == "prototype" || name == "length" || name == "name" {
				continue
			}
			if _, ok := goja.AssertFunction(o.Get(name)); ok {
				found = append(found, name)
			}
		}
	}
	slices.Sort(found)
	return found
}

// Class is a class of a name, without compiled-in ones.
func (p *Program) Class(name string) (handler.Class, bool) {
	c, ok := p.classes[name]
	if !ok {
		return handler.Class{}, false
	}
	made := handler.Class{Name: name, Methods: make(map[string]handler.Func, len(c.methods))}
	for _, of := range c.methods {
		m := &method{c.source, c.export, name, of}
		made.Methods[of] = func(ctx context.Context, call *handler.Call) (any, error) { return p.call(ctx, m, call) }
	}
	return made, true
}

// Classes are the names of all classes, sorted.
func (p *Program) Classes() []string {
	names := make([]string, 0, len(p.classes))
	for name := range p.classes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Warnings are what is wrong in files that were read and does not keep them from
// running, such as sanitizers that are none.
func (p *Program) Warnings() (all []*routes.Error) {
	p.sources.mu.Lock()
	defer p.sources.mu.Unlock()
	for _, s := range p.sources.files {
		all = append(all, s.problems...)
	}
	slices.SortFunc(all, func(a, b *routes.Error) int {
		if order := strings.Compare(a.At.File, b.At.File); order != 0 {
			return order
		}
		return a.At.Line - b.At.Line
	})
	return all
}

// call runs a method in a runtime that is free.
func (p *Program) call(ctx context.Context, m *method, c *handler.Call) (any, error) {
	rt, err := p.take(ctx)
	if err != nil {
		return nil, err
	}
	rt.begin(ctx, c)
	clean := false
	defer func() { // a panic of ours leaves no runtime behind
		if good := rt.end(); !clean || !good {
			rt = nil
		}
		p.free <- rt
	}()
	result, err := rt.run(m, c)
	for _, promise := range rt.call.rejected {
		lost := rt.thrown(promise.Result(), nil)
		p.engine.Logger().Warn("a promise was rejected and nobody waits for it", zap.String("request", c.RequestID), zap.String("handler", m.class+"."+m.name),
			zap.Error(lost), zap.String("stack", Stack(lost)))
	}
	clean = true
	return result, err
}

// take waits for a runtime.
func (p *Program) take(ctx context.Context) (*runtime, error) {
	var rt *runtime
	select {
	case rt = <-p.free:
	default:
		timer := time.NewTimer(p.engine.Wait)
		defer timer.Stop()
		select {
		case rt = <-p.free:
		case <-timer.C:
			return nil, handler.Busy()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if rt != nil {
		return rt, nil
	}
	rt, err := newRuntime(p)
	if err != nil {
		p.free <- nil
	}
	return rt, err
}
