package sanitize

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// str returns a value as text in valid UTF-8.
func str(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return strings.ToValidUTF8(v, "\uFFFD")
	case bool:
		return strconv.FormatBool(v)
	case time.Time:
		return v.UTC().Format(time.RFC3339)
	}
	if n, ok := number(value); ok {
		return numberText(n)
	}
	return encode(value)
}

// encode returns a value as JSON, or an empty string if it cannot be encoded.
func encode(value any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// numberText formats a number like encoding/json.
func numberText(n float64) string {
	if math.Abs(n) < 1e21 && (n == 0 || math.Abs(n) >= 1e-6) {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return strconv.FormatFloat(n, 'g', -1, 64)
}

// number returns the value as a float64, if it is a finite number.
func number(value any) (n float64, ok bool) {
	switch v := value.(type) {
	case float64:
		n = v
	case int64:
		n = float64(v)
	case int:
		n = float64(v)
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return 0, false
		}
		n = f
	default:
		return 0, false
	}
	return n, !math.IsNaN(n) && !math.IsInf(n, 0)
}

// numeric converts a value to a number. It converts booleans, times, and texts that contain a number. For any other
// value it returns 0 and false.
func numeric(value any) (n float64, ok bool) {
	switch v := value.(type) {
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	case string:
		v = trim(v)
		// Other forms of numbers in Go are not accepted: 0x1p-2, 1_000, Inf, NaN.
		if len(v) > 400 || strings.ContainsAny(v, "xX_pPnN") {
			return 0, false
		}
		if n, err := strconv.ParseFloat(v, 64); err == nil {
			return n, true
		}
		return 0, false
	case time.Time:
		return float64(v.Unix()), true
	}
	if n, ok := number(value); ok {
		return n, true
	}
	return 0, false
}

// maxSafe is the largest integer that all JSON parsers represent exactly (RFC 8259, section 6).
const maxSafe = 1<<53 - 1

// integer truncates a number to an integer from -maxSafe to maxSafe.
func integer(n float64) int64 {
	return int64(math.Trunc(max(-maxSafe, min(n, maxSafe))))
}

// exact returns a number as an int64 if it is an integer from -maxSafe to maxSafe, else as a float64.
func exact(n float64) any {
	if n == math.Trunc(n) && math.Abs(n) <= maxSafe {
		return int64(n)
	}
	return n
}

// equal reports whether two JSON values are equal; numbers are compared by value.
func equal(a, b any) bool {
	if n, ok := number(a); ok {
		m, ok := number(b)
		return ok && n == m
	}
	switch v := a.(type) {
	case nil, bool, string:
		return a == b
	case []any:
		w, ok := b.([]any)
		if !ok || len(v) != len(w) {
			return false
		}
		for i := range v {
			if !equal(v[i], w[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		w, ok := b.(map[string]any)
		if !ok || len(v) != len(w) {
			return false
		}
		for key := range v {
			if other, ok := w[key]; !ok || !equal(v[key], other) {
				return false
			}
		}
		return true
	}
	return false
}

// minLength returns the text s, or an empty string if s has fewer than minimum characters.
func minLength(s string, minimum int) string {
	if utf8.RuneCountInString(s) < minimum {
		return ""
	}
	return s
}
