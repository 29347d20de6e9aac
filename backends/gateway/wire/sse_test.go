package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// readEvents returns the events until the end of the stream. The last line is the error if it is not io.EOF.
func readEvents(r io.Reader) []string {
	events := NewEventReader(r)
	defer events.Release()
	var got []string
	for {
		event, err := events.Next()
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			return append(got, "error: "+err.Error())
		}
		if event.Comment {
			if len(event.Data) > 0 || len(event.Name) > 0 {
				got = append(got, "error: a comment with data")
			}
			got = append(got, ":")
			continue
		}
		got = append(got, fmt.Sprintf("%s=%s", event.Name, event.Data))
	}
}

// split returns a reader that delivers text in two reads, cut at the given byte offset.
func split(text string, offset int) io.Reader {
	return io.MultiReader(strings.NewReader(text[:offset]), strings.NewReader(text[offset:]))
}

var sseCases = []struct {
	name, text string
	want       []string
}{
	{"nothing", "", nil},
	{"blank lines only", "\n\n\r\n\r\r", nil},
	{"one", "data: x\n\n", []string{"=x"}},
	{"no UTF-8", "event: a\xff\ndata: x\xe2\x82\n\ndata: \xc3\n\ndata: \xc3\ndata: ü\n\n", []string{"a\ufffd=x\ufffd", "=\ufffd", "=\ufffd\nü"}},
	{"no space", "data:x\n\n", []string{"=x"}},
	{"one space is stripped", "data:  x \n\n", []string{"= x "}},
	{"named", "event: ping\ndata: {}\n\n", []string{"ping={}"}},
	{"name behind data", "data: {}\nevent: ping\n\n", []string{"ping={}"}},
	{"name does not last", "event: a\ndata: 1\n\ndata: 2\n\n", []string{"a=1", "=2"}},
	{"name without data does not last", "event: a\n\ndata: 2\n\n", []string{"=2"}},
	{"last name wins", "event: a\nevent: b\ndata: 1\n\n", []string{"b=1"}},
	{"CRLF", "event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", []string{"a=1", "=2"}},
	{"CR", "event: a\rdata: 1\r\rdata: 2\r\r", []string{"a=1", "=2"}},
	{"mixed ends", "data: 1\r\n\ndata: 2\r\rdata: 3\n\r\ndata: 4\n\n", []string{"=1", "=2", "=3", "=4"}},
	{"LF CR is two ends", "data: 1\n\rdata: 2\n\r", []string{"=1", "=2"}},
	{"several data lines", "data: a\ndata: b\ndata:\ndata: c\n\n", []string{"=a\nb\n\nc"}},
	{"empty first of several", "data:\ndata: b\n\n", []string{"=\nb"}},
	{"two empty ones", "data\ndata\n\n", []string{"=\n"}},
	{"several, CRLF", "data: a\r\ndata: b\r\n\r\n", []string{"=a\nb"}},
	{"several, then one", "data: a\ndata: b\n\ndata: c\n\n", []string{"=a\nb", "=c"}},
	{"empty data", "data:\n\n", []string{"="}},
	{"data without colon", "data\n\n", []string{"="}},
	{"other fields", "id: 7\nretry: 10\nfoo: bar\ndata: x\nbaz\n\n", []string{"=x"}},
	{"names are exact", "Data: x\ndata : y\n data: z\ndatax: w\n\n", nil},
	{"comments", ": hi\n\n:\n: OPENROUTER PROCESSING\n\ndata: x\n\n", []string{":", ":", ":", "=x"}},
	{"comment in an event", "data: a\n: c\ndata: b\n\n", []string{"=a\nb"}},
	{"comment behind a name", "event: a\n: c\ndata: b\n\n", []string{"a=b"}},
	{"BOM", "\ufeffdata: x\n\n", []string{"=x"}},
	{"BOM alone on its line", "\ufeff\ndata: x\n\n", []string{"=x"}},
	{"second BOM is text", "\ufeff\ufeffdata: x\n\ndata: y\n\n", []string{"=y"}},
	{"later BOM is text", "data: x\n\n\ufeffdata: y\n\ndata: z\n\n", []string{"=x", "=z"}},
	{"end without blank line", "data: x\n", []string{"=x"}},
	{"end without line end", "data: x", []string{"=x"}},
	{"end in a CR", "data: x\r", []string{"=x"}},
	{"end behind a name", "data: x\n\nevent: y", []string{"=x"}},
	{"end in a comment", "data: x\n\n: y", []string{"=x", ":"}},
	{"colons and spaces in data", "data: a: b : c\n\n", []string{"=a: b : c"}},
	{"UTF-8", "data: é€😀\n\ndata: ü\n\n", []string{"=é€😀", "=ü"}},
	{"zero bytes", "data: a\x00b\n\n", []string{"=a\x00b"}},
	{"other line ends are text", "data: a\v\f\u0085\u2028b\n\n", []string{"=a\v\f\u0085\u2028b"}},
	{"no JSON stream at all", "<html>\n<body>nothing: here</body>\n</html>\n", nil},
}

func TestEventReader(t *testing.T) {
	t.Parallel()
	for _, c := range sseCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for offset := range len(c.text) + 1 {
				if got := readEvents(split(c.text, offset)); !slices.Equal(got, c.want) {
					t.Fatalf("cut at byte %d: %q, want %q", offset, got, c.want)
				}
			}
			for name, r := range map[string]io.Reader{
				"byte by byte":       iotest.OneByteReader(strings.NewReader(c.text)),
				"end with last data": iotest.DataErrReader(strings.NewReader(c.text)),
				"half reads":         iotest.HalfReader(strings.NewReader(c.text)),
			} {
				if got := readEvents(r); !slices.Equal(got, c.want) {
					t.Errorf("%s: %q, want %q", name, got, c.want)
				}
			}
		})
	}
}

// TestEventReaderMovesItsBuffer reads more events than the first buffer holds, so that events cross its end at every
// offset.
func TestEventReaderMovesItsBuffer(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	want := make([]string, 0, 600)
	for i := range 300 {
		data := strings.Repeat("x", i*7%101) + fmt.Sprint(i)
		fmt.Fprintf(&text, "event: e%d\r\ndata: %s\r\ndata: 2\r\n\r\n: c\n\n", i, data)
		want = append(want, fmt.Sprintf("e%d=%s\n2", i, data), ":")
	}
	for pad := range 64 {
		r := strings.NewReader(strings.Repeat("\n", pad) + text.String())
		if got := readEvents(r); !slices.Equal(got, want) {
			t.Fatalf("%d bytes of padding: events differ", pad)
		}
	}
	if got := readEvents(iotest.OneByteReader(strings.NewReader(text.String()))); !slices.Equal(got, want) {
		t.Fatal("byte by byte: events differ")
	}
}

func TestEventReaderError(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	r := io.MultiReader(strings.NewReader("data: 1\n\ndata: 2\n"), iotest.ErrReader(broken))
	events := NewEventReader(r)
	defer events.Release()
	if event, err := events.Next(); err != nil || string(event.Data) != "1" {
		t.Fatalf("first: %q, %v", event.Data, err)
	}
	// An incomplete event is not returned when the stream breaks.
	if event, err := events.Next(); !errors.Is(err, broken) {
		t.Fatalf("second: %q, %v", event.Data, err)
	}
	if _, err := events.Next(); !errors.Is(err, broken) {
		t.Fatalf("the error does not last: %v", err)
	}
}

// ask counts the reads. There must be none while the EventReader still has an event in its buffer.
type ask struct {
	r     io.Reader
	calls int
}

func (a *ask) Read(p []byte) (int, error) { a.calls++; return a.r.Read(p) }

func TestEventReaderReadsLazily(t *testing.T) {
	t.Parallel()
	r := &ask{r: strings.NewReader("data: 1\n\ndata: 2\n\n: c\n\ndata: 3\n\n")}
	events := NewEventReader(r)
	defer events.Release()
	for i := range 4 {
		if _, err := events.Next(); err != nil {
			t.Fatal(err)
		}
		if r.calls != 1 {
			t.Fatalf("event %d took %d reads", i, r.calls)
		}
	}
}

func TestEventReaderLargeEvents(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	large := strings.Repeat("0123456789abcdef", size/16)
	pr, pw := io.Pipe()
	go func() {
		for _, text := range []string{
			"data: " + large + "\n\n",
			"data: small\n\n",
			"data: " + large[:size/2] + "\ndata: " + large[size/2:] + "\n\n",
			"data: small\n\n",
		} {
			_, _ = io.WriteString(pw, text) // the reader notices missing text
		}
		_ = pw.Close()
	}()
	events := NewEventReader(pr)
	defer events.Release()
	for i, want := range []string{large, "small", large[:size/2] + "\n" + large[size/2:], "small"} {
		event, err := events.Next()
		if err != nil || string(event.Data) != want {
			t.Fatalf("event %d: %d bytes, %v, want %d bytes", i, len(event.Data), err, len(want))
		}
		if want == "small" && (cap(events.buf) > burstBuffer || cap(events.joined) > burstBuffer) {
			t.Errorf("event %d: %d and %d bytes are kept after a large event", i, cap(events.buf), cap(events.joined))
		}
	}
	if _, err := events.Next(); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
}

// endless repeats a text for ever, and counts its bytes.
type endless struct {
	text string
	n    int
}

func (e *endless) Read(p []byte) (n int, err error) {
	for n < len(p) {
		c := copy(p[n:], e.text[e.n%len(e.text):])
		n += c
		e.n += c
	}
	return n, nil
}

func TestEventReaderTooLarge(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"one line": "data: x", "many data lines": "data: x\n", "empty data lines": "data\n", "fields that mean nothing": "id: 1\n", "names": "event: x\n", "comments in an event": "data: x\n: c\n",
	} {
		r := &endless{text: text}
		events := NewEventReader(r)
		event, err := events.Next()
		if !errors.Is(err, ErrEventTooLarge) {
			t.Errorf("%s: %d bytes, %v", name, len(event.Data), err)
		}
		if r.n > MaxEvent || cap(events.buf) > MaxEvent || cap(events.joined) > 2*MaxEvent {
			t.Errorf("%s: read %d bytes, keeps %d and %d", name, r.n, cap(events.buf), cap(events.joined))
		}
		if _, err := events.Next(); !errors.Is(err, ErrEventTooLarge) {
			t.Errorf("%s: the error does not last: %v", name, err)
		}
		events.Release()
	}
	// Blank lines and comments are not part of an event, so they do not count towards its size.
	r := io.MultiReader(io.LimitReader(&endless{text: "\n: c\n"}, 2*MaxEvent), strings.NewReader("data: x\n\n"))
	events := NewEventReader(r)
	defer events.Release()
	for {
		event, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !event.Comment {
			if string(event.Data) != "x" {
				t.Errorf("event %q", event.Data)
			}
			break
		}
	}
	if cap(events.buf) != startBuffer {
		t.Errorf("comments grew the buffer to %d bytes", cap(events.buf))
	}
}

func TestEventReaderJustBelowTheLimit(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte("x"), MaxEvent-len("data: \n\n"))
	text := slices.Concat([]byte("data: "), data, []byte("\n\ndata: y\n\n"))
	events := NewEventReader(bytes.NewReader(text))
	defer events.Release()
	for i, want := range [][]byte{data, []byte("y")} {
		if event, err := events.Next(); err != nil || !bytes.Equal(event.Data, want) {
			t.Fatalf("event %d: %d bytes, %v", i, len(event.Data), err)
		}
	}
}

// plainEvents parses a whole text in a simple way, line by line.
func plainEvents(text string) []string {
	text = strings.TrimPrefix(text, "\ufeff")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	var got []string
	var name string
	data, hasData := make([]string, 0, 4), false
	lines := strings.Split(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	for i, line := range append(lines, "") {
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if hasData {
				got = append(got, strings.ToValidUTF8(name, "\ufffd")+"="+strings.ToValidUTF8(strings.Join(data, "\n"), "\ufffd"))
			}
			name, data, hasData = "", data[:0], false
		case field == "" && i < len(lines):
			if !hasData && name == "" {
				got = append(got, ":")
			}
		case field == "event":
			name = value
		case field == "data":
			data, hasData = append(data, value), true
		}
	}
	return got
}

func FuzzEventReader(f *testing.F) {
	for _, c := range sseCases {
		f.Add(c.text, 3)
	}
	f.Fuzz(func(t *testing.T, text string, offset int) {
		want := plainEvents(text)
		if got := readEvents(strings.NewReader(text)); !slices.Equal(got, want) {
			t.Fatalf("%q: %q, want %q", text, got, want)
		}
		if len(text) > 0 {
			offset = int(uint(offset) % uint(len(text)))
			if got := readEvents(split(text, offset)); !slices.Equal(got, want) {
				t.Fatalf("%q cut at %d: %q, want %q", text, offset, got, want)
			}
		}
		if got := readEvents(iotest.OneByteReader(strings.NewReader(text))); !slices.Equal(got, want) {
			t.Fatalf("%q byte by byte: %q, want %q", text, got, want)
		}
	})
}

// drip returns one byte at a time, and ErrWait before each.
type drip struct {
	text  string
	ready bool
}

func (d *drip) Read(p []byte) (int, error) {
	if len(d.text) == 0 {
		return 0, io.EOF
	}
	if d.ready = !d.ready; !d.ready {
		return 0, ErrWait
	}
	p[0], d.text = d.text[0], d.text[1:]
	return 1, nil
}

func TestEventReaderWaits(t *testing.T) {
	t.Parallel()
	const text = "\ufeffdata: a\r\ndata:b\r\n\r\n: comment\n\revent: x\rdata: c\r\r\n\ndata: d"
	read := func(r io.Reader) (events []string) {
		e := NewEventReader(r)
		defer e.Release()
		for {
			event, err := e.Next()
			switch {
			case errors.Is(err, ErrWait):
				continue
			case err != nil:
				return append(events, err.Error())
			}
			events = append(events, fmt.Sprintf("%s %q %t", event.Name, event.Data, event.Comment))
		}
	}
	want, got := read(strings.NewReader(text)), read(&drip{text: text})
	if fmt.Sprint(got) != fmt.Sprint(want) || len(want) != 5 {
		t.Errorf("byte by byte it read\n%v\nat once\n%v", got, want)
	}
}

// TestValidUTF8Len checks that ValidUTF8Len returns the length of the text that ValidUTF8 makes.
func TestValidUTF8Len(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "good", "h\u00e9", "\xff", "\xff\xfe", "a\xffb\xff\xc3", "\xe2\x82 you\xc3", "\ufffd\xff\ufffd"} {
		if got, want := ValidUTF8Len([]byte(text)), len(ValidUTF8([]byte(text))); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func BenchmarkEventReader(b *testing.B) {
	const (
		n     = 1000
		chunk = `{"id":"chatcmpl-abc","object":"chat.completion.chunk","created":1700000000,"model":"gpt-5.4-mini-2026-01-01","service_tier":"default","system_fingerprint":null,"choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],"usage":null}`
	)
	stream := bytes.Repeat([]byte("data: "+chunk+"\n\n"), n)
	r := bytes.NewReader(stream)
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		r.Reset(stream)
		events := NewEventReader(r)
		count := 0
		for {
			_, err := events.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			count++
		}
		events.Release()
		if count != n {
			b.Fatalf("%d events", count)
		}
	}
}
