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
// afterwards.
func init() {
	sqlite.MustRegisterDeterministicScalarFunction("run_match", 2,
		func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
			id, ok := args[0].(int64)
			if !ok {
				return nil, errors.New("run_match takes the number of a pattern")
			}
			text, ok := textArg(args[1])
			if !ok {
				return nil, nil //nolint:nilnil // SQL: null
			}
			matched, err := pattern.Match(id, text)
			if err != nil || !matched {
				return int64(0), err
			}
			return int64(1), nil
		})
	sqlite.MustRegisterDeterministicScalarFunction("run_path_order", 1,
		func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
			text, ok := textArg(args[0])
			if !ok {
				return nil, nil //nolint:nilnil // SQL: null
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
		})
	sqlite.MustRegisterDeterministicScalarFunction("run_timestamp", 1,
		func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
			ms, ok := args[0].(int64)
			if !ok {
				return nil, nil //nolint:nilnil // SQL: null
			}
			return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000-07:00"), nil
		})
	for name, format := range map[string]func(int64, string) string{
		"run_format_time":   tochar.Time,
		"run_format_number": tochar.Number,
	} {
		sqlite.MustRegisterDeterministicScalarFunction(name, 2,
			func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
				n, ok := args[0].(int64)
				template, ok2 := textArg(args[1])
				if !ok || !ok2 {
					return nil, nil //nolint:nilnil // SQL: null
				}
				return format(n, template), nil
			})
	}
}

func textArg(v driver.Value) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case []byte:
		return string(v), true
	}
	return "", false
}
