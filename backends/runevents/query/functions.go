package query

import (
	"database/sql/driver"
	"errors"
	"time"

	sqlite "modernc.org/sqlite"

	"github.com/tollgate-gateway/tollgate/backends/runevents/pattern"
	"github.com/tollgate-gateway/tollgate/backends/runevents/query/syntax"
	"github.com/tollgate-gateway/tollgate/backends/runevents/tochar"
)

// init registers functions of PostgreSQL that SQLite lacks. They exist in all SQLite connections that the process opens
// afterwards:
//
//   - run_match(id, text): 1 if the text matches the pattern with the ID from pattern.Hold, otherwise 0
//   - run_path_order(array): a byte string that sorts like the JSON array of texts
//   - run_timestamp(milliseconds): the time in ISO 8601
//   - run_format_time(milliseconds, template) and run_format_number(integer, template): to_char of PostgreSQL
//
// The result is NULL if an argument is NULL.
func init() {
	register := func(name string, arity int32, fn func(args []driver.Value) (driver.Value, error)) {
		sqlite.MustRegisterDeterministicScalarFunction(name, arity,
			func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) { return fn(args) })
	}
	register("run_match", 2, runMatch)
	register("run_path_order", 1, runPathOrder)
	register("run_timestamp", 1, func(args []driver.Value) (driver.Value, error) {
		ms, ok := args[0].(int64)
		if !ok {
			return nil, nil // SQL: null
		}
		return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000-07:00"), nil
	})
	for name, format := range map[string]func(int64, string) string{
		"run_format_time":   tochar.Time,
		"run_format_number": tochar.Number,
	} {
		register(name, 2, func(args []driver.Value) (driver.Value, error) {
			value, hasValue := args[0].(int64)
			template, hasTemplate := textOf(args[1])
			if !hasValue || !hasTemplate {
				return nil, nil // SQL: null
			}
			return format(value, template), nil
		})
	}
}

// runMatch implements run_match.
func runMatch(args []driver.Value) (driver.Value, error) {
	id, ok := args[0].(int64)
	if !ok {
		return nil, errors.New("run_match takes the number of a pattern")
	}
	text, ok := textOf(args[1])
	if !ok {
		return nil, nil // SQL: null
	}
	matched, err := pattern.Match(id, text)
	if err != nil || !matched {
		return int64(0), err
	}
	return int64(1), nil
}

// runPathOrder implements run_path_order. In the result, a zero byte ends each text, so that a path sorts before the
// paths that it begins.
func runPathOrder(args []driver.Value) (driver.Value, error) {
	text, ok := textOf(args[0])
	if !ok {
		return nil, nil // SQL: null
	}
	v, err := syntax.JSON(text, syntax.Limits{Depth: syntax.MaxDepth, Values: len(text) + 1})
	if err != nil {
		return nil, err
	}
	key := []byte{} // not nil, which would be NULL
	for _, item := range v.Items {
		key = append(append(key, item.Text...), 0)
	}
	return key, nil
}

// textOf returns the text of an argument. ok is false for NULL and numbers.
func textOf(v driver.Value) (text string, ok bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case []byte:
		return string(v), true
	}
	return "", false
}
