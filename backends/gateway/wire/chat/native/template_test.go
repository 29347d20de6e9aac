package native

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

// slow calls Event without the fast path, for comparison.
func slow(c *Stream, data []byte) (string, wire.Progress, error) {
	c.last.forget()
	out, progress, err := c.Event(nil, data)
	return string(out), progress, err
}

func TestTemplateAgreesWithParsing(t *testing.T) {
	t.Parallel()
	chunk := func(text string) string {
		return `{"id":"x","created":1,"model":"up","choices":[{"delta":{"content":` + text + `},"finish_reason":null}],"usage":null}`
	}
	pad := func(text, padding string) string {
		return `{"id":"x","model":"up","choices":[{"delta":{"content":` + text + `}}],"obfuscation":` + padding + `,"created":1}`
	}
	runs := map[string][]string{
		"texts":             {chunk(`"a"`), chunk(`"b"`), chunk(`"é\n\""`), chunk(`"\u0041"`)},
		"empty text":        {chunk(`"a"`), chunk(`""`), chunk(`"b"`)},
		"text that fakes":   {chunk(`"a"`), chunk(`"a"},"finish_reason":null}],"usage":null}`)},
		"broken text":       {chunk(`"a"`), chunk("\"a\nb\""), chunk(`"\x"`)},
		"other tail":        {chunk(`"a"`), `{"id":"x","created":1,"model":"up","choices":[{"delta":{"content":"b"},"finish_reason":"stop"}],"usage":null}`},
		"other id":          {chunk(`"a"`), `{"id":"y","created":1,"model":"up","choices":[{"delta":{"content":"b"},"finish_reason":null}],"usage":null}`},
		"short":             {chunk(`"a"`), `{"id":"x"}`, `{}`, chunk(`"b"`)},
		"head without end":  {chunk(`"a"`), `{"id":"x","created":1,"model":"up","choices":[{"delta":{"content":"`},
		"padded":            {pad(`"a"`, `"xx"`), pad(`"b"`, `""`), pad(`"c"`, `"x\"y"`), pad(`""`, `"z"`), chunk(`"d"`), pad(`"e"`, `"q"`)},
		"padding that lies": {pad(`"a"`, `"xx"`), pad(`"b"`, `"x","choices":[]`), pad(`"b"`, `1`), pad(`"b"`, "\"\n\"")},
		"padding before":    {`{"obfuscation":"x","choices":[{"delta":{"content":"a"}}]}`, `{"obfuscation":"yy","choices":[{"delta":{"content":"b"}}]}`},
		"overlap":           {`{"choices":[{"delta":{"content":"a"}}]}`, `{"choices":[{"delta":{"content":"}}]}`, `{"choices":[{"delta":{"content":""}}]}`},
	}
	for name, events := range runs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fast, long := NewStream("m", false), NewStream("m", false)
			fast.corrector.id, long.corrector.id = "x", "x"
			fast.corrector.created, long.corrector.created = 1, 1
			for _, data := range events {
				out, progress, err := fast.Event(nil, []byte(data))
				want, wantProgress, wantErr := slow(long, []byte(data))
				if string(out) != want || progress != wantProgress || (err == nil) != (wantErr == nil) {
					t.Errorf("%s\n gave %s %v %v\n want %s %v %v", data, out, progress, err, want, wantProgress, wantErr)
				}
			}
			if fast.TextBytes() != long.TextBytes() {
				t.Errorf("text bytes %d, want %d", fast.TextBytes(), long.TextBytes())
			}
		})
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add(`{"choices":[{"delta":{"content":"`, `a`, `"}}]}`, `b"c`)
	f.Add(`{"id":"x","model":"m","choices":[{"delta":{"reasoning":"`, `a`, `"},"finish_reason":null}],"usage":null}`, `\u00e9`)
	f.Add(`{"choices":[{"delta":{"content":"`, `a`, `"}}],"obfuscation":"zz"}`, `b`)
	f.Fuzz(func(t *testing.T, head, first, tail, second string) {
		fast, long := NewStream("m", true), NewStream("m", true)
		fast.corrector.id, long.corrector.id = "x", "x"
		fast.corrector.created, long.corrector.created = 1, 1
		for _, text := range []string{first, second, first} {
			data := []byte(head + text + tail)
			out, progress, err := fast.Event(nil, data)
			want, wantProgress, wantErr := slow(long, data)
			if string(out) != want || progress != wantProgress || (err == nil) != (wantErr == nil) {
				t.Fatalf("%s\n gave %s %v %v\n want %s %v %v", data, out, progress, err, want, wantProgress, wantErr)
			}
		}
		if fast.TextBytes() != long.TextBytes() || fast.Finish() != long.Finish() {
			t.Fatal("the two ways count differently")
		}
	})
}
