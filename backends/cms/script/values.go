package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/dop251/goja"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
)

// maxNesting is how deep values may nest, on their way in and out.
const maxNesting = 512

// deepJSON reports whether a text nests deeper than maxNesting, if it is JSON.
func deepJSON(text string) bool {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '[', '{':
			if depth++; depth > maxNesting {
				return true
			}
		case ']', '}':
			depth--
		}
	}
	return false
}

// object is a map as an object of the script, its members sorted by name.
func (rt *runtime) object(m map[string]any) *goja.Object {
	made := rt.vm.NewObject()
	if len(m) < 2 {
		for key, value := range m {
			rt.put(made, key, value)
		}
		return made
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		rt.put(made, key, m[key])
	}
	return made
}

// put sets a member of an object, also one whose name means something there.
func (rt *runtime) put(o *goja.Object, key string, value any) {
	if key == "__proto__" {
		_ = o.DefineDataProperty(key, rt.value(value), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
		return
	}
	_ = o.Set(key, rt.value(value))
}

// value is a value of JSON as one of the script.
func (rt *runtime) value(value any) goja.Value {
	switch v := value.(type) {
	case nil:
		return goja.Null()
	case map[string]any:
		return rt.object(v)
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
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return rt.vm.ToValue(n)
		}
		n, _ := v.Float64()
		return rt.vm.ToValue(n)
	case json.RawMessage:
		made, err := rt.parse(goja.Undefined(), rt.vm.ToValue(string(v)))
		if err != nil {
			return goja.Undefined()
		}
		return made
	}
	return rt.vm.ToValue(value)
}

// plainValue is a value of the script as one of JSON.
func (rt *runtime) plainValue(v goja.Value) (any, error) {
	if v == nil || goja.IsUndefined(v) || goja.IsNull(v) {
		return nil, nil
	}
	if o, ok := v.(*goja.Object); ok {
		text, err := rt.json(o)
		if err != nil || text == nil {
			return nil, err
		}
		var made any
		err = json.Unmarshal(text, &made)
		return made, err
	}
	return v.Export(), nil
}

// answer is the result of a method.
func (rt *runtime) answer(result goja.Value) (any, error) {
	if result == nil || goja.IsUndefined(result) || goja.IsNull(result) {
		return nil, nil
	}
	object, ok := result.(*goja.Object)
	if !ok {
		if s, ok := result.(goja.String); ok {
			text := s.String()
			if len(text) > maxOutput {
				return nil, errOutput
			}
			return text, nil
		}
		return rt.json(result)
	}
	if serve, ok := rt.call.served[object]; ok {
		return serve, nil
	}
	if made, ok := rt.call.responses[object]; ok {
		return rt.response(made)
	}
	text, err := rt.json(object)
	if err != nil {
		return nil, err
	}
	return text, nil
}

// response is new Response(status, body, headers).
type response struct {
	status  int
	body    goja.Value
	headers http.Header
}

func (rt *runtime) response(r *response) (any, error) {
	made := handler.Response{Status: r.status, Header: r.headers}
	switch body := r.body.(type) {
	case nil:
	case goja.String:
		made.Body = body.String()
	case *goja.Object:
		if body.ClassName() == "ArrayBuffer" {
			bytes, _ := body.Export().(goja.ArrayBuffer)
			made.Body = slices.Clone(bytes.Bytes())
			break
		}
		text, err := rt.json(body)
		if err != nil {
			return nil, err
		}
		made.Body = text
	default:
		if !goja.IsUndefined(body) && !goja.IsNull(body) {
			text, err := rt.json(body)
			if err != nil {
				return nil, err
			}
			made.Body = text
		}
	}
	return made, nil
}

var (
	errOutput   = errors.New("the answer is larger than 8 MiB")
	errCircle   = fmt.Errorf("the answer nests deeper than %d, or holds itself", maxNesting)
	errFunction = errors.New("a function is no answer")
)

// json writes a value as JSON.stringify does.
func (rt *runtime) json(v goja.Value) (json.RawMessage, error) {
	w := writer{rt: rt, text: make([]byte, 0, 256)}
	var failed error
	if err := rt.do(func() { failed = w.write(v, 0) }); err != nil {
		return nil, rt.reason(err)
	}
	if failed != nil {
		return nil, failed
	}
	if len(w.text) == 0 {
		return nil, errFunction
	}
	return w.text, nil
}

// writer writes JSON.
type writer struct {
	rt   *runtime
	text []byte
}

// write leaves the text as it is for what JSON has not, such as functions.
func (w *writer) write(v goja.Value, depth int) error {
	if len(w.text) > maxOutput {
		return errOutput
	}
	if depth > maxNesting {
		return errCircle
	}
	switch v := v.(type) {
	case nil:
		return nil
	case goja.String:
		w.text = appendString(w.text, v.String())
		return nil
	case *goja.Object:
		return w.object(v, depth)
	}
	switch value := v.Export().(type) {
	case nil:
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

func (w *writer) object(o *goja.Object, depth int) error {
	switch o.ClassName() {
	case "Function":
		return nil
	case "Date", "String", "Number", "Boolean", "GoMap": // seldom: the engine knows how
		return w.wrapped(o, depth)
	case "Array":
		return w.array(o, depth)
	}
	if made, ok := w.rt.toJSON(o); ok {
		return w.write(made, depth+1)
	}
	w.text = append(w.text, '{')
	begun := false
	for _, key := range o.Keys() {
		at := len(w.text)
		if begun {
			w.text = append(w.text, ',')
		}
		w.text = append(appendString(w.text, key), ':')
		value := len(w.text)
		if err := w.write(o.Get(key), depth+1); err != nil {
			return err
		}
		if len(w.text) == value {
			w.text = w.text[:at]
			continue
		}
		begun = true
	}
	w.text = append(w.text, '}')
	return nil
}

func (w *writer) array(o *goja.Object, depth int) error {
	w.text = append(w.text, '[')
	length := o.Get("length").ToInteger()
	for i := range length {
		if i > 0 {
			w.text = append(w.text, ',')
		}
		at := len(w.text)
		if err := w.write(o.Get(strconv.FormatInt(i, 10)), depth+1); err != nil {
			return err
		}
		if len(w.text) == at {
			w.text = append(w.text, "null"...)
		}
	}
	w.text = append(w.text, ']')
	return nil
}

// wrapped are objects for values that are none.
func (w *writer) wrapped(o *goja.Object, depth int) error {
	if made, ok := w.rt.toJSON(o); ok {
		return w.write(made, depth+1)
	}
	text, err := o.MarshalJSON()
	w.text = append(w.text, text...)
	return err
}

// toJSON is what an object says that it is.
func (rt *runtime) toJSON(o *goja.Object) (goja.Value, bool) {
	as, ok := o.Get("toJSON").(*goja.Object)
	if !ok {
		return nil, false
	}
	fn, ok := goja.AssertFunction(as)
	if !ok {
		return nil, false
	}
	made, err := fn(o, rt.vm.ToValue(""))
	if err != nil {
		rt.rethrow(err)
	}
	return made, true
}

// appendNumber writes a number as JSON.stringify does: no NaN, no Infinity.
func appendNumber(text []byte, n float64) []byte {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return append(text, "null"...)
	}
	if abs := math.Abs(n); n == 0 || abs >= 1e-6 && abs < 1e21 {
		if n == 0 {
			n = 0 // no sign
		}
		return strconv.AppendFloat(text, n, 'f', -1, 64)
	}
	return strconv.AppendFloat(text, n, 'g', -1, 64)
}

const hexDigits = "0123456789abcdef"

// appendString writes a text; halves of characters become U+FFFD.
func appendString(text []byte, s string) []byte {
	text = append(text, '"')
	at := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			text = append(text, s[at:i]...)
			switch c {
			case '"', '\\':
				text = append(text, '\\', c)
			case '\n':
				text = append(text, '\\', 'n')
			case '\r':
				text = append(text, '\\', 'r')
			case '\t':
				text = append(text, '\\', 't')
			default:
				text = append(text, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			at = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			text = append(append(text, s[at:i]...), "\uFFFD"...)
			at = i + size
		}
		i += size
	}
	return append(append(text, s[at:]...), '"')
}
