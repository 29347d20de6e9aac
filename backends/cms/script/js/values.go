package js

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/dop251/goja"

	"github.com/tollgate-gateway/tollgate/backends/cms/script/wire"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// maxOutput limits the size of an answer, and of each value that a script passes to the host, in bytes.
const maxOutput = 8 << 20

var (
	errOutput   = errors.New("the answer is larger than 8 MiB")
	errNesting  = fmt.Errorf("the answer nests deeper than %d, or contains itself", wire.MaxNesting)
	errFunction = errors.New("a function cannot be an answer")
)

// read decodes a value that was encoded by wire.AppendValue.
func (rt *Runtime) read(r *wire.Reader) (goja.Value, error) {
	value := rt.readValue(r, 0)
	return value, r.Err()
}

// readValue decodes a value. depth is the number of values that contain this value. A value that is nested too deeply
// becomes null.
func (rt *Runtime) readValue(r *wire.Reader, depth int) goja.Value {
	switch kind := r.Byte(); kind {
	case wire.True, wire.False:
		return rt.vm.ToValue(kind == wire.True)
	case wire.Int:
		return rt.vm.ToValue(r.Int())
	case wire.Float:
		return rt.vm.ToValue(r.Float())
	case wire.String:
		return rt.vm.ToValue(r.Text())
	case wire.JSON:
		parsed, err := rt.parse(r.Text())
		rt.check(err)
		return parsed
	case wire.List:
		if depth > wire.MaxNesting {
			break // null
		}
		items := make([]any, r.Len())
		for i := range items {
			items[i] = rt.readValue(r, depth+1)
		}
		return rt.vm.NewArray(items...)
	case wire.Object:
		if depth > wire.MaxNesting {
			break // null
		}
		object := rt.vm.NewObject()
		for range r.Len() {
			rt.setMember(object, r.Text(), rt.readValue(r, depth+1))
		}
		return object
	}
	return goja.Null()
}

// setMember sets a member of an object. The name may be __proto__.
func (rt *Runtime) setMember(o *goja.Object, name string, value goja.Value) {
	if name == "__proto__" {
		_ = o.DefineDataProperty(name, value, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
		return
	}
	_ = o.Set(name, value)
}

// value converts a value of encoding/json, or a list of strings, to a JavaScript value.
func (rt *Runtime) value(value any) goja.Value {
	switch v := value.(type) {
	case nil:
		return goja.Null()
	case map[string]any:
		object := rt.vm.NewObject()
		for _, name := range slices.Sorted(maps.Keys(v)) {
			rt.setMember(object, name, rt.value(v[name]))
		}
		return object
	case []any:
		items := make([]any, len(v))
		for i := range v {
			items[i] = rt.value(v[i])
		}
		return rt.vm.NewArray(items...)
	case []string:
		items := make([]any, len(v))
		for i := range v {
			items[i] = v[i]
		}
		return rt.vm.NewArray(items...)
	}
	return rt.vm.ToValue(value)
}

// plain converts a JavaScript value to a value of encoding/json. It throws an error in the script if the value has no
// JSON form.
func (rt *Runtime) plain(v goja.Value) any {
	if !isSet(v) {
		return nil
	}
	o, ok := v.(*goja.Object)
	if !ok {
		return v.Export()
	}
	var result any
	if text, err := rt.json(o); err != nil {
		rt.check(err)
	} else if err := json.Unmarshal(text, &result); err != nil {
		rt.fail(err.Error())
	}
	return result
}

// isSet reports whether an argument is neither undefined nor null.
func isSet(v goja.Value) bool { return v != nil && !goja.IsUndefined(v) && !goja.IsNull(v) }

// text returns an argument as a string, or an empty string if the argument is missing.
func text(v goja.Value) string {
	if !isSet(v) {
		return ""
	}
	return v.String()
}

// answer encodes the return value of a method for a Result frame: a file, a response, or a body.
func (rt *Runtime) answer(result goja.Value) ([]byte, error) {
	if !isSet(result) {
		return []byte{wire.Nothing}, nil
	}
	object, ok := result.(*goja.Object)
	if !ok {
		return rt.body(result)
	}
	if number, ok := rt.served[object]; ok {
		return wire.AppendUint([]byte{wire.Served}, number), nil
	}
	if r, ok := rt.responses[object]; ok {
		body, err := rt.body(r.body)
		if err != nil {
			return nil, err
		}
		encoded := wire.AppendUint([]byte{wire.Responded}, uint64(r.status)) //nolint:gosec // G115: a status
		encoded = wire.AppendUint(encoded, uint64(len(r.header)))
		for _, h := range r.header {
			encoded = wire.AppendText(wire.AppendText(encoded, h[0]), h[1])
		}
		return append(encoded, body...), nil
	}
	return rt.body(result)
}

// response holds the arguments of a response created by new Response(status, body, headers).
type response struct {
	status int
	body   goja.Value
	header [][2]string
}

// body encodes a JavaScript value as the body of a response.
func (rt *Runtime) body(v goja.Value) ([]byte, error) {
	if !isSet(v) {
		return []byte{wire.Nothing}, nil
	}
	switch v := v.(type) {
	case goja.String:
		text := v.String()
		if len(text) > maxOutput {
			return nil, errOutput
		}
		return wire.AppendText([]byte{wire.Text}, text), nil
	case *goja.Object:
		if v.ClassName() == "ArrayBuffer" {
			if bytes, ok := v.Export().(goja.ArrayBuffer); ok {
				if len(bytes.Bytes()) > maxOutput {
					return nil, errOutput
				}
				return wire.AppendText([]byte{wire.Raw}, bytes.Bytes()), nil
			}
		}
	}
	text, err := rt.json(v)
	if err != nil {
		return nil, err
	}
	return wire.AppendText([]byte{wire.Whole}, text), nil
}

// json encodes a value like JSON.stringify. It returns an error if the value has no JSON form.
func (rt *Runtime) json(v goja.Value) ([]byte, error) {
	w := writer{rt: rt, text: make([]byte, 0, 256)}
	var writeErr error
	if err := rt.catch(func() { writeErr = w.write(v, 0) }); err != nil {
		return nil, err
	}
	switch {
	case writeErr != nil:
		return nil, writeErr
	case len(w.text) == 0:
		return nil, errFunction
	case len(w.text) > maxOutput:
		return nil, errOutput
	}
	return w.text, nil
}

// writer encodes JavaScript values as JSON.
type writer struct {
	rt   *Runtime
	text []byte
}

// write appends the JSON of a value. It appends nothing for values without a JSON form, such as functions.
func (w *writer) write(v goja.Value, depth int) error {
	if len(w.text) > maxOutput {
		return errOutput
	}
	if depth > wire.MaxNesting {
		return errNesting
	}
	switch v := v.(type) {
	case nil:
		return nil
	case goja.String:
		w.text = jsontext.AppendQuoted(w.text, v.String())
		return nil
	case *goja.Object:
		return w.object(v, depth)
	}
	switch value := v.Export().(type) {
	case nil: // null, or undefined, which has no JSON form
		if goja.IsNull(v) {
			w.text = append(w.text, "null"...)
		}
	case bool:
		w.text = strconv.AppendBool(w.text, value)
	case int64:
		w.text = strconv.AppendInt(w.text, value, 10)
	case float64:
		w.text = appendNumber(w.text, value)
	default:
		if _, symbol := v.(*goja.Symbol); !symbol {
			return fmt.Errorf("%s cannot be written as JSON", v)
		}
	}
	return nil
}

// object appends an object like JSON.stringify, without members whose value is undefined or a function.
func (w *writer) object(o *goja.Object, depth int) error {
	switch o.ClassName() {
	case "Function":
		return nil
	case "Date", "String", "Number", "Boolean", "GoMap": // seldom used, so the engine encodes them
		return w.wrapper(o, depth)
	case "Array":
		return w.array(o, depth)
	}
	if replacement, ok := w.rt.toJSON(o); ok {
		return w.write(replacement, depth+1)
	}
	w.text = append(w.text, '{')
	needsComma := false
	for _, key := range o.Keys() {
		start := len(w.text)
		if needsComma {
			w.text = append(w.text, ',')
		}
		w.text = append(jsontext.AppendQuoted(w.text, key), ':')
		valueStart := len(w.text)
		if err := w.write(o.Get(key), depth+1); err != nil {
			return err
		}
		if len(w.text) == valueStart { // the value has no JSON form, so the member is left out
			w.text = w.text[:start]
			continue
		}
		needsComma = true
	}
	w.text = append(w.text, '}')
	return nil
}

// array appends an array like JSON.stringify: elements without a JSON form become null.
func (w *writer) array(o *goja.Object, depth int) error {
	w.text = append(w.text, '[')
	length := o.Get("length").ToInteger()
	for i := range length {
		if i > 0 {
			w.text = append(w.text, ',')
		}
		start := len(w.text)
		if err := w.write(o.Get(strconv.FormatInt(i, 10)), depth+1); err != nil {
			return err
		}
		if len(w.text) == start {
			w.text = append(w.text, "null"...)
		}
	}
	w.text = append(w.text, ']')
	return nil
}

// wrapper appends an object that wraps another value, such as a Date.
func (w *writer) wrapper(o *goja.Object, depth int) error {
	if replacement, ok := w.rt.toJSON(o); ok {
		return w.write(replacement, depth+1)
	}
	text, err := o.MarshalJSON()
	w.text = append(w.text, text...)
	return err
}

// toJSON returns the result of the object's method toJSON, and reports whether there is such a method.
func (rt *Runtime) toJSON(o *goja.Object) (goja.Value, bool) {
	method, ok := o.Get("toJSON").(*goja.Object)
	if !ok {
		return nil, false
	}
	fn, ok := goja.AssertFunction(method)
	if !ok {
		return nil, false
	}
	result, err := fn(o, rt.vm.ToValue(""))
	if err != nil {
		rt.check(err)
	}
	return result, true
}

// appendNumber appends a number like JSON.stringify: NaN and the infinities become null.
func appendNumber(text []byte, n float64) []byte {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return append(text, "null"...)
	}
	if abs := math.Abs(n); n == 0 || abs >= 1e-6 && abs < 1e21 {
		if n == 0 {
			n = 0 // -0 becomes 0
		}
		return strconv.AppendFloat(text, n, 'f', -1, 64)
	}
	return strconv.AppendFloat(text, n, 'g', -1, 64)
}
