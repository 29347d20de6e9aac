package script

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dlclark/regexp2/v2"
	"github.com/dop251/goja"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/backends/cms/routes"
)

// Limits of a call.
const (
	timeout       = 5 * time.Second
	maxDepth      = 512
	maxOperations = 1000
	maxOutput     = 8 << 20
	maxHelper     = 16 << 20 // of a text that a helper makes
	maxGrowth     = 128 << 20
	firstLook     = 5 * time.Millisecond // at how long a call takes and what memory it does
	nextLook      = 10 * time.Millisecond
)

// maxMatch bounds a match of a regular expression that has to try ways, such as one with
// a backreference; then it is none. The engine asks for no bound, and the default of
// its matcher is there for all that ask for none.
const maxMatch = time.Second

func init() { regexp2.DefaultMatchTimeout = maxMatch }

//go:embed prelude.js
var preludeText string

var prelude = sync.OnceValue(func() *goja.Program { return goja.MustCompile("prelude.js", preludeText, true) })

// runtime runs one call at a time. What files declare stays from one call to the next
// only where nothing can be left in it.
type runtime struct {
	vm      *goja.Runtime
	program *Program
	modules map[string]*goja.Object // by the name of the file
	keeps   bool                    // one of them does
	freeze  goja.Callable
	parse   goja.Callable
	context *goja.Object // the second argument of methods
	// function is what all functions inherit, and enter calls todo as a script would.
	function *goja.Object
	enter    goja.Callable
	todo     func()

	watch *time.Timer
	mu    sync.Mutex  // of what watch reads
	until time.Time   // the end of the call; zero: there is none
	base  uint64      // live memory at the first look; 0: it was not yet
	away  atomic.Bool // it waits for the store, or for another server

	hit bool // it was interrupted

	call  *call
	spent bool // it is good for no other call
}

// call is what a runtime works on.
type call struct {
	*handler.Call
	parent     context.Context
	ctx        context.Context // made when it is needed
	cancel     context.CancelFunc
	until      time.Time
	operations int
	// What natives have made, which scripts pass on.
	responses map[*goja.Object]*response
	served    map[*goja.Object]handler.Served
	causes    map[*goja.Object]error
	// rejected are promises that nobody has waited for yet, in their order.
	rejected []*goja.Promise
}

func newRuntime(p *Program) (*runtime, error) {
	vm := goja.New()
	vm.SetMaxCallStackSize(maxDepth)
	rt := &runtime{vm: vm, program: p, modules: make(map[string]*goja.Object)}
	rt.function = vm.Get("Function").ToObject(vm).Get("prototype").ToObject(vm)
	rt.enter, _ = goja.AssertFunction(vm.ToValue(func(goja.FunctionCall) goja.Value {
		rt.todo()
		return goja.Undefined()
	}))
	made, err := vm.RunProgram(prelude())
	if err != nil {
		return nil, fmt.Errorf("starting a runtime: %w", err)
	}
	install, _ := goja.AssertFunction(made)
	tools, err := install(goja.Undefined(), vm.ToValue(map[string]any{
		"bytes": maxHelper, "items": maxHelper / 8, "steps": maxHelper / 2, "text": 64 << 10, "digits": 100_000,
	}), vm.ToValue(rt.wrapParse), vm.ToValue(rt.length))
	if err != nil {
		return nil, fmt.Errorf("starting a runtime: %w", err)
	}
	vm.SetPromiseRejectionTracker(rt.track)
	rt.globals()
	harden, _ := goja.AssertFunction(tools.ToObject(vm).Get("harden"))
	if _, err := harden(goja.Undefined()); err != nil {
		return nil, fmt.Errorf("starting a runtime: %w", err)
	}
	rt.freeze, _ = goja.AssertFunction(tools.ToObject(vm).Get("deepFreeze"))
	if _, err := rt.freeze(goja.Undefined(), rt.context); err != nil {
		return nil, fmt.Errorf("starting a runtime: %w", err)
	}
	rt.watch = time.AfterFunc(time.Hour, rt.look)
	rt.watch.Stop()
	return rt, nil
}

// length is that of a value as a text.
func (rt *runtime) length(c goja.FunctionCall) goja.Value {
	if s, ok := c.Argument(0).(goja.String); ok {
		return rt.vm.ToValue(s.Length())
	}
	return rt.vm.ToValue(len(c.Argument(0).String()))
}

// wrapParse keeps JSON.parse from texts that nest too deep.
func (rt *runtime) wrapParse(c goja.FunctionCall) goja.Value {
	raw, _ := goja.AssertFunction(c.Argument(0))
	rt.parse = raw
	parse := rt.vm.ToValue(func(c goja.FunctionCall) goja.Value {
		text := c.Argument(0).ToString()
		if deepJSON(text.String()) {
			panic(rt.vm.NewTypeError(errTooDeep.Error()))
		}
		made, err := raw(c.This, text, c.Argument(1))
		if err != nil {
			rt.rethrow(err)
		}
		return made
	}).ToObject(rt.vm)
	_ = parse.DefineDataProperty("name", rt.vm.ToValue("parse"), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	return parse
}

// rethrow passes on what a script threw.
func (rt *runtime) rethrow(err error) {
	if thrown, ok := errors.AsType[*goja.Exception](err); ok {
		panic(thrown.Value())
	}
	panic(err)
}

// look ends a call that takes too long or fills the memory.
func (rt *runtime) look() {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.until.IsZero() {
		return
	}
	live := liveMemory()
	// What others take while it waits is not its own, nor what others had taken and give up.
	if rt.base == 0 || live < rt.base || rt.away.Load() {
		rt.base = live
	}
	switch left := time.Until(rt.until); {
	case left <= 0:
		rt.hit = true
		rt.vm.Interrupt(errTime)
	case live > rt.base+maxGrowth:
		rt.hit = true
		rt.vm.Interrupt(errMemory)
	default:
		rt.watch.Reset(min(left, nextLook))
	}
}

// liveMemory is what the last look of the garbage collector left, of the whole process.
func liveMemory() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}

var (
	errTime    = errors.New("the handler took too long")
	errMemory  = errors.New("the handler took too much memory")
	errTooDeep = errors.New("JSON that nests deeper than 512")
	errPending = errors.New("the handler's promise is not resolved: nothing is left that could do it")
)

// begin lets a call begin, for as long as ctx allows and by default 5 s.
func (rt *runtime) begin(ctx context.Context, c *handler.Call) {
	made := &call{Call: c, parent: ctx, until: time.Now().Add(rt.program.engine.timeout)}
	if until, ok := ctx.Deadline(); ok {
		made.until = until
	}
	rt.call = made
	rt.away.Store(false)
	rt.mu.Lock()
	rt.until, rt.base = made.until, 0
	rt.mu.Unlock()
	rt.watch.Reset(firstLook)
}

// end says whether the runtime is good for another call.
func (rt *runtime) end() bool {
	rt.mu.Lock()
	rt.until = time.Time{}
	spent := rt.hit || rt.spent
	rt.mu.Unlock()
	rt.watch.Stop()
	if rt.call.cancel != nil {
		rt.call.cancel()
	}
	rt.call = nil
	if rt.keeps {
		clear(rt.modules)
		rt.keeps = false
	}
	return !spent
}

// context is that of a call, with its end.
func (c *call) context() context.Context {
	if c.ctx == nil {
		c.ctx, c.cancel = context.WithDeadline(c.parent, c.until)
	}
	return c.ctx
}

// require is what files call.
func (rt *runtime) require(from string) func(goja.FunctionCall) goja.Value {
	return func(c goja.FunctionCall) goja.Value {
		found, err := rt.program.sources.find(from, c.Argument(0).String())
		if err == nil {
			var made goja.Value
			if made, err = rt.load(found); err == nil {
				return made
			}
			if thrown, ok := errors.AsType[*goja.Exception](err); ok {
				panic(thrown.Value())
			}
		}
		if p, ok := errors.AsType[*routes.Error](err); ok {
			panic(rt.failure("SyntaxError", p.Error()))
		}
		if interrupted, ok := errors.AsType[*goja.InterruptedError](err); ok {
			panic(interrupted)
		}
		panic(rt.failure("Error", err.Error()))
	}
}

func (rt *runtime) failure(class, message string) goja.Value {
	made, err := rt.vm.New(rt.vm.Get(class), rt.vm.ToValue(message))
	if err != nil {
		return rt.vm.ToValue(message)
	}
	return made
}

// load gives what a file exports.
func (rt *runtime) load(s *source) (goja.Value, error) {
	if module, ok := rt.modules[s.name]; ok { // also while it is loaded, in a circle
		return module.Get("exports"), nil
	}
	module := rt.vm.NewObject()
	if s.program == nil {
		made, err := rt.parse(goja.Undefined(), rt.vm.ToValue(s.json))
		if err != nil {
			return nil, err
		}
		if _, err := rt.freeze(goja.Undefined(), made); err != nil {
			return nil, err
		}
		_ = module.Set("exports", made)
		rt.modules[s.name] = module
		return made, nil
	}
	exports := rt.vm.NewObject()
	_ = module.Set("exports", exports)
	rt.modules[s.name] = module
	value, err := rt.vm.RunProgram(s.program)
	if err == nil {
		run, _ := goja.AssertFunction(value)
		value, err = run(exports, exports, rt.vm.ToValue(rt.require(s.name)), module)
	}
	if err != nil {
		delete(rt.modules, s.name)
		return nil, err
	}
	rt.keeps = rt.keeps || s.keeps
	if !rt.keeps { // else nothing of it stays, and it may have what others write to
		for _, declared := range []goja.Value{value, module} {
			if _, err := rt.freeze(goja.Undefined(), declared); err != nil {
				return nil, err
			}
		}
	}
	return module.Get("exports"), nil
}

// run calls a method and gives its result as an answer.
func (rt *runtime) run(m *method, c *handler.Call) (any, error) {
	exported, err := rt.load(m.source)
	if err != nil {
		return nil, rt.reason(err)
	}
	class, _ := exported.(*goja.Object)
	if class != nil && m.export != "" {
		class, _ = class.Get(m.export).(*goja.Object)
	}
	if class == nil {
		return nil, fmt.Errorf("%s exports no class %s any more", m.source.name, m.class)
	}
	fn, ok := goja.AssertFunction(class.Get(m.name))
	if !ok {
		return nil, fmt.Errorf("%s: class %s has no method %s any more", m.source.name, m.class, m.name)
	}
	result, err := fn(class, rt.object(c.Data), rt.context)
	if err != nil {
		return nil, rt.reason(err)
	}
	if o, ok := result.(*goja.Object); ok && o.ExportType() == promiseType {
		promise, _ := o.Export().(*goja.Promise)
		rt.track(promise, goja.PromiseRejectionHandle)
		switch promise.State() {
		case goja.PromiseStatePending:
			return nil, errPending
		case goja.PromiseStateRejected:
			return nil, rt.thrown(promise.Result(), nil)
		case goja.PromiseStateFulfilled:
			result = promise.Result()
		}
	}
	return rt.answer(result)
}

// track keeps promises that are rejected as long as nobody waits for them.
func (rt *runtime) track(p *goja.Promise, operation goja.PromiseRejectionOperation) {
	switch {
	case rt.call == nil:
	case operation == goja.PromiseRejectionReject && len(rt.call.rejected) < 10:
		rt.call.rejected = append(rt.call.rejected, p)
	case operation == goja.PromiseRejectionHandle:
		rt.call.rejected = slices.DeleteFunc(rt.call.rejected, func(q *goja.Promise) bool { return q == p })
	}
}

var promiseType = reflect.TypeFor[*goja.Promise]()

// reason is an error of a call as the caller is told of it, and the log.
func (rt *runtime) reason(err error) error {
	if interrupted, ok := errors.AsType[*goja.InterruptedError](err); ok {
		rt.spent = true
		reason, _ := interrupted.Value().(error)
		if errors.Is(reason, errTime) {
			return &scriptError{handler.Errorf(http.StatusGatewayTimeout, "%s", errTime), stack(interrupted.String())}
		}
		return &scriptError{reason, stack(interrupted.String())}
	}
	if deep, ok := errors.AsType[*goja.StackOverflowError](err); ok {
		rt.spent = true
		return &scriptError{fmt.Errorf("calls nest deeper than %d", maxDepth), stack(deep.String())}
	}
	if thrown, ok := errors.AsType[*goja.Exception](err); ok {
		return rt.thrown(thrown.Value(), thrown)
	}
	return err
}

// thrown is what a script threw: with a code it is the answer. at says where; nil: it is not known. Its texts may be made
// by the script, too.
func (rt *runtime) thrown(value goja.Value, at *goja.Exception) error {
	var trace, message string
	var code int64
	object, ok := value.(*goja.Object)
	err := rt.do(func() {
		if at != nil {
			trace = at.String()
		}
		if !ok {
			return
		}
		if s := object.Get("stack"); s != nil && !goja.IsUndefined(s) {
			trace = s.String()
		}
		if m := object.Get("message"); m != nil && !goja.IsUndefined(m) {
			message = m.String()
		}
		if c := object.Get("code"); c != nil {
			if n, ok := c.Export().(int64); ok {
				code = n
			}
		}
		if code == 0 && message == "" {
			message = object.String()
		}
	})
	_, interrupted := errors.AsType[*goja.InterruptedError](err)
	_, deep := errors.AsType[*goja.StackOverflowError](err)
	switch {
	case interrupted || deep:
		return rt.reason(err)
	case err != nil:
		message = "an error that cannot be read"
	case !ok:
		return &scriptError{fmt.Errorf("thrown: %s", value), stack(trace)}
	}
	if code >= 400 && code <= 599 {
		return &scriptError{handler.Errorf(int(code), "%s", message), stack(trace)}
	}
	if cause, ok := rt.call.causes[object]; ok {
		return &scriptError{cause, stack(trace)}
	}
	if trace == "" {
		trace = message
	}
	return &scriptError{errors.New(message), stack(trace)}
}

// do runs what a script may have a part in, such as a getter.
func (rt *runtime) do(fn func()) error {
	before := rt.todo
	rt.todo = fn
	_, err := rt.enter(goja.Undefined())
	rt.todo = before
	return err
}

// scriptError is an error with the place in the site's code where it arose.
type scriptError struct {
	error
	stack string
}

func (e *scriptError) Unwrap() error { return e.error }

// Stack is where an error of a handler arose, a call a line, the innermost first; empty:
// it is not known.
func (e *scriptError) Stack() string { return e.stack }

// Stack is that of an error which has one.
func Stack(err error) string {
	if e, ok := errors.AsType[*scriptError](err); ok {
		return e.stack
	}
	return ""
}

// programCounter is what the engine puts behind a place.
var programCounter = regexp.MustCompile(`\([0-9]+\)`)

// stack leaves the calls of a site's code, each as name (file:line:column).
func stack(trace string) string {
	var lines []string
	for line := range strings.Lines(trace) {
		call, ok := strings.CutPrefix(strings.TrimSpace(line), "at ")
		if ok && !strings.Contains(call, "(native)") && !strings.Contains(call, "prelude.js") {
			lines = append(lines, programCounter.ReplaceAllString(call, ""))
		}
	}
	return strings.Join(lines, "\n")
}
