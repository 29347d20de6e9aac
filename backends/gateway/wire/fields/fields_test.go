package fields

import (
	"strconv"
	"strings"
	"testing"
)

// TestRepeatedField checks that Get returns the last of several values of a field. If it returned the first one, a short
// text would hide a long one from the estimate of the prompt's size.
func TestRepeatedField(t *testing.T) {
	t.Parallel()
	top := Top([]byte(`{"part":{"text":"short","text":"a longer text"}}`))
	var part Object
	if err := part.Open(top.Get("part")); err != nil {
		t.Fatal(err)
	}
	if text, err := part.Text("text"); err != nil || text != "a longer text" {
		t.Errorf("got %q, %v", text, err)
	}
}

// TestManyFields checks that Open refuses an object with more fields than it reads, instead of ignoring the last ones.
func TestManyFields(t *testing.T) {
	t.Parallel()
	var body strings.Builder
	body.WriteString(`{"part":{`)
	for i := range maxMembers {
		body.WriteString(`"f` + strconv.Itoa(i) + `":0,`)
	}
	body.WriteString(`"text":"a"}}`)
	top := Top([]byte(body.String()))
	var part Object
	if err := part.Open(top.Get("part")); err == nil || !strings.Contains(err.Error(), "part has more than 64 fields") {
		t.Errorf("got %v", err)
	}
}
