// Package js runs the JavaScript of a site: handler classes in CommonJS files, and Routes.js.
//
// The package limits the depth of calls and the size of an answer, but neither time nor memory. The caller must stop a
// call that takes too much time or memory. It does so by Runtime.Interrupt or, because the engine cannot be interrupted
// within its built-in functions, by ending the process. A [Runtime] runs one call and is then discarded, so changes of
// classes, prototypes or built-in objects do not affect the next call. A [Host] performs the operations that a script
// requests.
package js

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/dlclark/regexp2/v2"
	"github.com/dop251/goja"

	"github.com/tollgate-gateway/tollgate/backends/cms/script/wire"
)

// init lets regular expressions backtrack without limit, because by default the engine treats a match that exceeds a
// limit as failed. Matches are bounded by the time and memory limits of the call instead. The engine has no option for
// this, so the default of its package is changed.
func init() { regexp2.DefaultOptimizationOptions.MaxBacktrackingStackSize = -1 }

// maxDepth limits the nesting of calls of JavaScript functions.
const maxDepth = 512

// Host performs operations for a script.
type Host interface {
	// Ask performs one of the operations of package wire and returns the reply, which is valid until the next call of
	// Ask. An error that the script may see is a *[wire.RefusedError].
	Ask(operation byte, arguments []byte) (reply []byte, err error)
	// Log writes a line to the log. level is one of the levels of package wire.
	Log(level byte, text string)
}

// Runtime is the JavaScript environment of one call. All methods but Interrupt must be called from the same
// goroutine.
type Runtime struct {
	vm        *goja.Runtime
	code      *Code
	host      Host
	modules   map[string]*goja.Object // by file name
	context   *goja.Object            // the second argument of methods
	jsonParse goja.Callable           // JSON.parse
	callNext  goja.Callable           // a JavaScript function that calls nextFunc; see catch
	nextFunc  func()                  // called by callNext
	buffer    []byte                  // buffer for the arguments of an operation
	logged    int                     // number of lines

	call   request
	status int
	header [][2]string // in the order in which they were set
	// Objects that the script got from Go functions. A method may return those in the maps responses and served.
	responses map[*goja.Object]*response // created by new Response(…)
	served    map[*goja.Object]uint64    // created by pages.file, with the number that the host has given to the file
	causes    map[*goja.Object]uint64    // errors whose text the script must not see; see wire.RefusedError.Cause
	// rejected holds the rejected promises that the script has not handled yet, in order.
	rejected []*goja.Promise
}

// request holds the data of the request that scripts can read without asking the host.
type request struct {
	method, path, id, address, base string
	user                            struct {
		id    int64
		name  string
		roles []string
	}
}

// New returns a runtime for the code of a site. Callers should create it before the call arrives, because that takes a
// while.
func New(code *Code) *Runtime {
	rt := &Runtime{vm: goja.New(), code: code, modules: make(map[string]*goja.Object)}
	rt.vm.SetMaxCallStackSize(maxDepth)
	rt.vm.SetPromiseRejectionTracker(rt.trackRejection)
	_ = rt.vm.GlobalObject().SetPrototype(rt.lazy(globals))
	rt.context = rt.lazy(context)
	return rt
}

// Interrupt stops the running script before its next step. reason is either ErrTime or ErrMemory. Interrupt may be
// called from any goroutine.
func (rt *Runtime) Interrupt(reason error) { rt.vm.Interrupt(reason) }

// The reasons for interrupting a call.
var (
	ErrTime   = errors.New("the handler took too long")
	ErrMemory = errors.New("the handler took too much memory")
)

// errPending is the error of a call that has returned a promise that will never be resolved.
var errPending = errors.New("the handler's promise is not resolved, and no code is left to run that could resolve it")

// Run calls the method that a Call frame names, and appends the payload of a Result frame to result. frame is the
// payload of the Call frame.
func (rt *Runtime) Run(host Host, frame, result []byte) []byte {
	rt.host = host
	r := wire.NewReader(frame)
	requiringFile, name, export, class, method := r.Text(), r.Text(), r.Text(), r.Text(), r.Text()
	rt.call.method, rt.call.path, rt.call.id, rt.call.address, rt.call.base = r.Text(), r.Text(), r.Text(), r.Text(),
		r.Text()
	rt.call.user.id, rt.call.user.name = r.Int(), r.Text()
	for range r.Len() {
		rt.call.user.roles = append(rt.call.user.roles, r.Text())
	}
	var answer []byte
	var err error
	thrown := rt.catch(func() {
		var data goja.Value
		if data, err = rt.read(r); err == nil {
			answer, err = rt.method(requiringFile, name, export, class, method, data)
		}
	})
	if thrown != nil {
		err = thrown
	}
	result = wire.AppendUint(result, uint64(rt.status)) //nolint:gosec // G115: a status
	result = wire.AppendUint(result, uint64(len(rt.header)))
	for _, h := range rt.header {
		result = wire.AppendText(wire.AppendText(result, h[0]), h[1])
	}
	result = wire.AppendUint(result, uint64(len(rt.rejected)))
	for _, promise := range rt.rejected {
		result = rt.thrownToWire(promise.Result(), nil).append(result)
	}
	if err != nil {
		return rt.toWireError(err).append(append(result, wire.Failed))
	}
	return append(result, answer...)
}

// method calls a method of a class with data as its first argument, and returns the encoded result; see answer. The
// class is in the file that requiringFile requires by the given name. export is the name under which that file
// exports the class. If export is empty, the file exports the class itself. class, the name of the class, is for
// errors only.
func (rt *Runtime) method(requiringFile, name, export, class, method string, data goja.Value) ([]byte, error) {
	found, err := rt.code.find(rt.host, requiringFile, name)
	if err != nil {
		return nil, err
	}
	exported, err := rt.load(found)
	if err != nil {
		return nil, err
	}
	object, _ := exported.(*goja.Object)
	if object != nil && export != "" {
		object, _ = object.Get(export).(*goja.Object)
	}
	if object == nil {
		return nil, fmt.Errorf("%s exports no class %s any more", found.name, class)
	}
	fn, ok := goja.AssertFunction(object.Get(method))
	if !ok {
		return nil, fmt.Errorf("%s: class %s has no method %s any more", found.name, class, method)
	}
	result, err := fn(object, data, rt.context)
	if err != nil {
		return nil, err
	}
	if o, ok := result.(*goja.Object); ok && o.ExportType() == promiseType {
		promise, _ := o.Export().(*goja.Promise)
		rt.trackRejection(promise, goja.PromiseRejectionHandle) // its rejection is the error of the call
		switch promise.State() {
		case goja.PromiseStatePending:
			return nil, errPending
		case goja.PromiseStateRejected:
			return nil, &rejection{promise.Result()}
		case goja.PromiseStateFulfilled:
			result = promise.Result()
		}
	}
	return rt.answer(result)
}

// promiseType is the type to which the engine exports promises.
var promiseType = reflect.TypeFor[*goja.Promise]()

// rejection is the error of a call that has returned a rejected promise.
type rejection struct{ value goja.Value }

func (*rejection) Error() string { return "the promise was rejected" }

// trackRejection updates rt.rejected, which has at most 10 promises. The engine calls it when a promise is rejected,
// and when the script handles a rejected promise.
func (rt *Runtime) trackRejection(p *goja.Promise, operation goja.PromiseRejectionOperation) {
	switch {
	case operation == goja.PromiseRejectionReject && len(rt.rejected) < 10:
		rt.rejected = append(rt.rejected, p)
	case operation == goja.PromiseRejectionHandle:
		rt.rejected = slices.DeleteFunc(rt.rejected, func(q *goja.Promise) bool { return q == p })
	}
}

// catch calls fn, in which code of the script may run, such as a getter. It returns the exception that this code
// throws. It calls fn by way of a JavaScript function, because only then does the engine turn the exception into an
// error.
func (rt *Runtime) catch(fn func()) error {
	if rt.callNext == nil {
		rt.callNext, _ = goja.AssertFunction(rt.vm.ToValue(func(goja.FunctionCall) goja.Value {
			rt.nextFunc()
			return goja.Undefined()
		}))
	}
	outer := rt.nextFunc // fn of a catch within which this one runs
	rt.nextFunc = fn
	_, err := rt.callNext(goja.Undefined())
	rt.nextFunc = outer
	return err
}

// require returns the JavaScript function require for requiringFile. The function loads a file and returns its exports,
// or throws an error.
func (rt *Runtime) require(requiringFile string) func(goja.FunctionCall) goja.Value {
	return func(c goja.FunctionCall) goja.Value {
		found, err := rt.code.find(rt.host, requiringFile, c.Argument(0).String())
		if err == nil {
			var exports goja.Value
			if exports, err = rt.load(found); err == nil {
				return exports
			}
		}
		if p, ok := errors.AsType[*SourceError](err); ok {
			panic(rt.newError("SyntaxError", p.Error()))
		}
		rt.check(err)
		return goja.Undefined()
	}
}

// load evaluates a file, unless it has been evaluated already, and returns its exports.
func (rt *Runtime) load(s *source) (goja.Value, error) {
	if module, ok := rt.modules[s.name]; ok { // also while it is being loaded, for circular requires
		return module.Get("exports"), nil
	}
	module := rt.vm.NewObject()
	if s.program == nil { // a .json file
		parsed, err := rt.parse(s.json)
		if err != nil {
			return nil, err
		}
		_ = module.Set("exports", parsed)
		rt.modules[s.name] = module
		return parsed, nil
	}
	exports := rt.vm.NewObject()
	_ = module.Set("exports", exports)
	rt.modules[s.name] = module
	value, err := rt.vm.RunProgram(s.program)
	if err == nil {
		run, _ := goja.AssertFunction(value)
		_, err = run(exports, exports, rt.vm.ToValue(rt.require(s.name)), module)
	}
	if err != nil {
		delete(rt.modules, s.name)
		return nil, err
	}
	return module.Get("exports"), nil
}

// parse parses a text with the JavaScript function JSON.parse.
func (rt *Runtime) parse(text string) (goja.Value, error) {
	if rt.jsonParse == nil {
		rt.jsonParse, _ = goja.AssertFunction(rt.vm.Get("JSON").ToObject(rt.vm).Get("parse"))
	}
	return rt.jsonParse(goja.Undefined(), rt.vm.ToValue(text))
}

// newError returns a new error object of the given class, such as TypeError. If the class cannot be called, because the
// script has replaced it, newError returns the message.
func (rt *Runtime) newError(class, message string) goja.Value {
	object, err := rt.vm.New(rt.vm.Get(class), rt.vm.ToValue(message))
	if err != nil {
		return rt.vm.ToValue(message)
	}
	return object
}

// throw throws an Error in the script. If code is not 0, it is the status of the response unless the script catches the
// error.
func (rt *Runtime) throw(code int, message string) {
	object := rt.newError("Error", message)
	if o, ok := object.(*goja.Object); ok && code != 0 {
		_ = o.Set("code", code)
	}
	panic(object)
}

// fail throws an Error without a code in the script.
func (rt *Runtime) fail(message string) { rt.throw(0, message) }

// check throws err in the script, unless err is nil. It throws an exception of the script unchanged. It throws an
// error of the host as an error with the same code and message.
func (rt *Runtime) check(err error) {
	if err == nil {
		return
	}
	switch err := err.(type) { //nolint:errorlint // the engine and the host return these without wrapping
	case *goja.Exception:
		panic(err.Value())
	case *goja.InterruptedError, *goja.StackOverflowError:
		panic(err)
	case *wire.RefusedError:
		if err.Cause == 0 {
			rt.throw(err.Code, err.Message)
		}
		object := rt.newError("Error", "internal error")
		if o, ok := object.(*goja.Object); ok {
			if rt.causes == nil {
				rt.causes = make(map[*goja.Object]uint64)
			}
			rt.causes[o] = err.Cause
		}
		panic(object)
	}
	rt.fail(err.Error())
}

// wireError is an error as it is encoded in a Result frame.
type wireError struct {
	kind           byte // one of the kinds of errors of package wire
	code           int  // the status of the response if kind is wire.Coded, otherwise 0
	message, stack string
	cause          uint64 // see wire.RefusedError.Cause
}

// maxErrorText limits the message and the stack trace of an error, in bytes each.
const maxErrorText = 64 << 10

// append appends the encoded error to buf.
func (e wireError) append(buf []byte) []byte {
	buf = wire.AppendUint(append(buf, e.kind), uint64(e.code)) //nolint:gosec // G115: not negative
	buf = wire.AppendText(buf, e.message[:min(len(e.message), maxErrorText)])
	buf = wire.AppendText(buf, e.stack[:min(len(e.stack), maxErrorText)])
	return wire.AppendUint(buf, e.cause)
}

// toWireError converts the error that ended a call, which is an error of the engine, of the host or of this package.
func (rt *Runtime) toWireError(err error) wireError {
	if interrupted, ok := errors.AsType[*goja.InterruptedError](err); ok {
		kind := wire.TookMemory
		if reason, _ := interrupted.Value().(error); errors.Is(reason, ErrTime) {
			kind = wire.TookTime
		}
		return wireError{kind: kind, stack: stack(interrupted.String())}
	}
	if deep, ok := errors.AsType[*goja.StackOverflowError](err); ok {
		message := fmt.Sprintf("calls of functions are nested deeper than %d", maxDepth)
		return wireError{message: message, stack: stack(deep.String())}
	}
	if r, ok := errors.AsType[*rejection](err); ok {
		return rt.thrownToWire(r.value, nil)
	}
	if thrown, ok := errors.AsType[*goja.Exception](err); ok {
		return rt.thrownToWire(thrown.Value(), thrown)
	}
	return wireError{message: err.Error()}
}

// thrownToWire converts a value that the script has thrown. If the value has a code from 400 to 599, the code is the
// status of the response. exception is nil if the position is not known. Reading the value's members may run code of
// the script.
func (rt *Runtime) thrownToWire(value goja.Value, exception *goja.Exception) wireError {
	var trace, message string
	var code int64
	object, ok := value.(*goja.Object)
	err := rt.catch(func() {
		if exception != nil {
			trace = exception.String()
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
	result := wireError{message: message, stack: stack(trace)}
	switch {
	case interrupted || deep:
		return rt.toWireError(err)
	case err != nil:
		result.message = "an error whose message or code cannot be read"
	case !ok:
		result.message = "thrown: " + value.String()
	case code >= 400 && code <= 599:
		result.kind, result.code = wire.Coded, int(code)
	default:
		result.cause = rt.causes[object]
		if trace == "" {
			result.stack = stack(message)
		}
	}
	return result
}

// programCounter matches the number in parentheses that the engine appends to a position.
var programCounter = regexp.MustCompile(`\([0-9]+\)`)

// stack returns the calls in the site's code from a stack trace of the engine, one on each line in the form
// name (file:line:column).
func stack(trace string) string {
	var lines []string
	for line := range strings.Lines(trace) {
		call, ok := strings.CutPrefix(strings.TrimSpace(line), "at ")
		if ok && !strings.Contains(call, "(native)") {
			lines = append(lines, programCounter.ReplaceAllString(call, ""))
		}
	}
	return strings.Join(lines, "\n")
}
