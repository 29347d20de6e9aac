package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

// TestFrames checks that frames are received as they were sent, however their bytes arrive.
func TestFrames(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	out := NewConn(nil, &buf, MaxUp)
	payloads := []string{"", "a", strings.Repeat("b", 4095), strings.Repeat("c", 300_000), "d"}
	for i, payload := range payloads {
		if err := out.Send(append(out.Begin(byte(i)), payload...)); err != nil {
			t.Fatal(err)
		}
	}
	whole := buf.Bytes()
	for name, in := range map[string]io.Reader{"whole": bytes.NewReader(whole), "byte by byte": iotest.OneByteReader(bytes.NewReader(whole)), "halves": iotest.HalfReader(bytes.NewReader(whole))} {
		c := NewConn(in, nil, MaxUp)
		for i, want := range payloads {
			if kind, got, err := c.Read(); err != nil || int(kind) != i || string(got) != want {
				t.Errorf("%s: frame %d is of kind %d with %d bytes, %v", name, i, kind, len(got), err)
			}
		}
		if _, _, err := c.Read(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: after the last frame: got error %v, want %v", name, err, io.EOF)
		}
	}
	for cut := 1; cut < 6; cut++ {
		c := NewConn(bytes.NewReader(whole[len(whole)-6:len(whole)-cut]), nil, MaxUp)
		if _, _, err := c.Read(); err == nil {
			t.Errorf("a frame without its last %d bytes was read without an error", cut)
		}
	}
}

// TestLengths checks that a length that is too large is refused, and that an announced length does not allocate
// memory.
func TestLengths(t *testing.T) {
	t.Parallel()
	for _, length := range []uint32{0, MaxUp + 1, 1 << 31, 1<<32 - 1} {
		if _, _, err := NewConn(bytes.NewReader(append(binary.LittleEndian.AppendUint32(nil, length), Result)), nil, MaxUp).Read(); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("a frame of %d bytes: got error %v, want an error for its length", length, err)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		c := NewConn(bytes.NewReader(append(binary.LittleEndian.AppendUint32(nil, MaxUp), "short"...)), nil, MaxUp)
		if _, _, err := c.Read(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 100*64<<10 {
		t.Errorf("%d bytes were allocated for 100 frames, want at most 64 KiB each", allocated)
	}
	if err := NewConn(nil, io.Discard, MaxUp).Send(make([]byte, MaxDown+5)); !errors.Is(err, ErrLong) {
		t.Errorf("got error %v, want %v", err, ErrLong)
	}
}

// TestNesting checks that AppendValue returns an error for values that nest too deeply.
func TestNesting(t *testing.T) {
	t.Parallel()
	var value any
	for range MaxNesting + 2 {
		value = []any{value}
	}
	if _, err := AppendValue(nil, value); err == nil {
		t.Errorf("a value that nests deeper than %d was appended without an error", MaxNesting)
	}
}

// FuzzReader checks that a Reader does not panic, and that Err returns an error after reading beyond the end.
func FuzzReader(f *testing.F) {
	value, err := AppendValue(nil, map[string]any{"a": []any{1, 2.5, "x", nil, true, int64(-7)}, "b": map[string]any{}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(value)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, payload []byte) {
		r := NewReader(payload)
		for r.More() {
			left := len(r.Rest())
			switch r.Byte() % 7 {
			case 0:
				r.Uint()
			case 1:
				r.Int()
			case 2:
				r.Float()
			case 3:
				_ = r.Text()
			case 4:
				if n := r.Len(); n > len(payload) {
					t.Fatalf("%d items in %d bytes", n, len(payload))
				}
			case 5:
				r.Bool()
			}
			if len(r.Rest()) >= left {
				t.Fatal("a call has read no bytes")
			}
		}
		for range 3 {
			if r.Byte(); r.Err() == nil {
				t.Fatal("reading beyond the end is no error")
			}
		}
	})
}
