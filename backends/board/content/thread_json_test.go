package content

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
)

// TestAppendThreads checks that every field is written as encoding/json writes it.
func TestAppendThreads(t *testing.T) {
	t.Parallel()
	full := new(ThreadInfo)
	fill(t, reflect.ValueOf(full).Elem(), new(int64))
	for _, list := range [][]ThreadInfo{{}, {*full}, {{}}, {*full, {Visibility: "visible", CreatedAt: -1, LastPostAt: 1 << 60}, *full}} {
		var want bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		if err := e.Encode(list); err != nil {
			t.Fatal(err)
		}
		if got := string(AppendThreads(nil, list)) + "\n"; got != want.String() {
			t.Errorf("got  %swant %s", got, want.String())
		}
	}
	odd := []ThreadInfo{{Title: "\x00\t\"\\\u2028 <名>", Slug: "\n", AuthorUsername: "\U0001f600"}}
	var got []ThreadInfo
	if err := json.Unmarshal(AppendThreads(nil, odd), &got); err != nil || !reflect.DeepEqual(got, odd) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// fill sets each field to a value that differs from that of the field before it.
func fill(t *testing.T, v reflect.Value, n *int64) {
	t.Helper()
	if v.Kind() == reflect.Struct {
		for _, field := range v.Fields() {
			fill(t, field, n)
		}
		return
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), n)
		return
	}
	*n++
	switch {
	case v.CanInt():
		v.SetInt(*n * 1e6)
	case v.Kind() == reflect.String:
		v.SetString(fmt.Sprint("<text> ", *n))
	case v.Kind() == reflect.Bool:
		v.SetBool(*n%2 == 0)
	default:
		t.Fatalf("a field is %s", v.Type())
	}
}
