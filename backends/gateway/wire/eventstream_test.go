package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
)

// frame encodes a frame. headers are alternating names and values.
func frame(t testing.TB, payload string, headers ...string) []byte {
	t.Helper()
	message := eventstream.Message{Payload: []byte(payload)}
	for i := 0; i+1 < len(headers); i += 2 {
		message.Headers.Set(headers[i], eventstream.StringValue(headers[i+1]))
	}
	var out bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&out, message); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestEventStream checks that frames become server-sent events, however the body is divided into reads.
func TestEventStream(t *testing.T) {
	t.Parallel()
	body := bytes.Join([][]byte{
		frame(t, `{"role":"assistant"}`, ":message-type", "event", ":event-type", "messageStart", ":content-type", "application/json"),
		frame(t, "{\n\"delta\":\r\n{\"text\":\"a\\nb\"}}", ":message-type", "event", ":event-type", "contentBlockDelta"),
		frame(t, `{"text":"`+strings.Repeat("x", 100_000)+`"}`, ":message-type", "event", ":event-type", "large"),
		frame(t, ``, ":message-type", "event", ":event-type", "odd\ndata: forged"),
		frame(t, `{"message":"slow down"}`, ":message-type", "exception", ":exception-type", "throttlingException"),
		frame(t, ``, ":message-type", "error", ":error-code", "Internal", ":error-message", `it "broke"`),
	}, nil)
	const want = "event: messageStart\ndata: {\"role\":\"assistant\"}\n\n" +
		"event: contentBlockDelta\ndata: { \"delta\":  {\"text\":\"a\\nb\"}}\n\n"
	const end = "event: odd data: forged\ndata: \n\n" +
		"event: throttlingException\ndata: {\"message\":\"slow down\"}\n\n" +
		"event: error\ndata: {\"code\":\"Internal\",\"message\":\"it \\\"broke\\\"\"}\n\n"
	for name, r := range map[string]io.Reader{
		"at once": bytes.NewReader(body), "byte by byte": iotest.OneByteReader(bytes.NewReader(body)),
		"in halves": iotest.HalfReader(bytes.NewReader(body)), "with the end": iotest.DataErrReader(bytes.NewReader(body)),
	} {
		got, err := io.ReadAll(NewEventStream(io.NopCloser(r)))
		if err != nil || !strings.HasPrefix(string(got), want) || !strings.HasSuffix(string(got), end) || len(got) < 100_000 {
			t.Errorf("%s: %v, %d bytes: %.300s", name, err, len(got), got)
		}
	}
}

// TestEventStreamBroken checks that invalid data ends with an error, and that the frames before it are delivered.
func TestEventStreamBroken(t *testing.T) {
	t.Parallel()
	good := frame(t, `{}`, ":message-type", "event", ":event-type", "messageStart")
	changed := bytes.Clone(good)
	changed[len(changed)-6] ^= 1
	head := bytes.Clone(good)
	head[9] ^= 1
	huge := binary.BigEndian.AppendUint32(nil, MaxEvent+1)
	for name, c := range map[string]struct {
		body []byte
		want error
	}{
		"cut":         {good[:len(good)-3], io.ErrUnexpectedEOF},
		"cut head":    {good[:5], io.ErrUnexpectedEOF},
		"checksum":    {changed, ErrBroken},
		"head":        {head, ErrBroken},
		"too large":   {append(huge, make([]byte, 64)...), ErrBroken},
		"too small":   {make([]byte, 64), ErrBroken},
		"web page":    {[]byte("<html><body>no stream here, but a page</body></html>"), ErrBroken},
		"broken body": {nil, io.ErrClosedPipe},
	} {
		var r io.Reader = bytes.NewReader(append(bytes.Clone(good), c.body...))
		if c.body == nil {
			r = io.MultiReader(bytes.NewReader(good), iotest.ErrReader(io.ErrClosedPipe))
		}
		got, err := io.ReadAll(NewEventStream(io.NopCloser(r)))
		if !errors.Is(err, c.want) || string(got) != "event: messageStart\ndata: {}\n\n" {
			t.Errorf("%s: %v, %q", name, err, got)
		}
	}
}

func FuzzEventStream(f *testing.F) {
	f.Add(frame(f, `{"a":1}`, ":message-type", "event", ":event-type", "x"))
	f.Add([]byte{0, 0, 0, 16, 0, 0, 0, 0, 5, 194, 72, 235, 125, 152, 200, 255})
	f.Fuzz(func(t *testing.T, body []byte) {
		whole, err := io.ReadAll(NewEventStream(io.NopCloser(bytes.NewReader(body))))
		bit, bitErr := io.ReadAll(NewEventStream(io.NopCloser(iotest.OneByteReader(bytes.NewReader(body)))))
		if !bytes.Equal(whole, bit) || (err == nil) != (bitErr == nil) {
			t.Errorf("%q, %v; byte by byte %q, %v", whole, err, bit, bitErr)
		}
		for event := range strings.SplitSeq(strings.TrimSuffix(string(whole), "\n\n"), "\n\n") {
			if len(whole) > 0 && (!strings.HasPrefix(event, "event: ") || strings.Count(event, "\n") != 1) {
				t.Errorf("not one event: %q", event)
			}
		}
	})
}

// roomy is a body that records the memory requested for it.
type roomy struct {
	io.Reader
	asked []int
	limit int
}

func (r *roomy) Close() error { return nil }

// Room implements Roomer.
func (r *roomy) Room(size int) error {
	if r.asked = append(r.asked, size); size > r.limit {
		return io.ErrNoProgress
	}
	return nil
}

// TestEventStreamTakesMemory checks that memory for large frames is requested as they arrive, whatever length they
// claim, and released after them.
func TestEventStreamTakesMemory(t *testing.T) {
	t.Parallel()
	small := frame(t, `{}`, ":message-type", "event", ":event-type", "small")
	large := frame(t, `{"text":"`+strings.Repeat("x", 1<<20)+`"}`, ":message-type", "event", ":event-type", "large")
	body := &roomy{Reader: bytes.NewReader(bytes.Join([][]byte{small, large, small}, nil)), limit: 16 << 20}
	got, err := io.ReadAll(NewEventStream(body))
	if err != nil || len(got) < 1<<20 {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	if peak := slices.Max(body.asked); peak < 3<<20 || peak > 12<<20 || body.asked[len(body.asked)-1] != 0 {
		t.Errorf("asked for %v", body.asked)
	}
	claimed := binary.BigEndian.AppendUint32(nil, MaxEvent)
	body = &roomy{Reader: bytes.NewReader(append(claimed, make([]byte, 100)...)), limit: 16 << 20}
	if _, err := io.ReadAll(NewEventStream(body)); err == nil || len(body.asked) != 0 {
		t.Errorf("a length alone: %v, asked for %v", err, body.asked)
	}
	body = &roomy{Reader: bytes.NewReader(large), limit: 1 << 20}
	if _, err := io.ReadAll(NewEventStream(body)); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("without memory: %v", err)
	}
}
