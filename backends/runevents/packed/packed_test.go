package packed_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"

	"github.com/tollgate-gateway/tollgate/backends/runevents/packed"
)

// deflated returns a text in the former format.
func deflated(tb testing.TB, text []byte, level int) []byte {
	tb.Helper()
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, level)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := w.Write(text); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// zipped returns a text as gzip with several members.
func zipped(tb testing.TB, members ...[]byte) []byte {
	tb.Helper()
	var out bytes.Buffer
	for _, text := range members {
		w := gzip.NewWriter(&out)
		if _, err := w.Write(text); err != nil {
			tb.Fatal(err)
		}
		if err := w.Close(); err != nil {
			tb.Fatal(err)
		}
	}
	return out.Bytes()
}

func TestPacked(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty":        "",
		"a byte":       "[",
		"an empty one": "[]",
		"a list":       "[" + strings.Repeat(`{"level":"notice","message":"Applied catalog in 1.23 seconds"},`, 500) + "1]",
	} {
		encodings := map[string][]byte{
			"packed": packed.Pack([]byte(text)), "gzip": zipped(t, []byte(text)),
			"gzip of two": zipped(t, []byte(text[:len(text)/2]), []byte(text[len(text)/2:])),
		}
		for _, level := range []int{flate.NoCompression, flate.BestSpeed, flate.DefaultCompression, flate.HuffmanOnly} {
			encodings[fmt.Sprint("deflated at ", level)] = deflated(t, []byte(text), level)
		}
		for encoding, p := range encodings {
			got, err := packed.Append([]byte("before "), p, len(text))
			if err != nil || string(got) != "before "+text {
				t.Errorf("%s, %s: got %d bytes, %v, want %d", name, encoding, len(got), err, len("before ")+len(text))
			}
			if text == "" {
				continue
			}
			if got, err := packed.Append([]byte("before"), p, len(text)-1); !errors.Is(err, packed.ErrTooLong) || string(got) != "before" {
				t.Errorf("%s, %s, a byte too long: got %d bytes, %v", name, encoding, len(got), err)
			}
		}
		if long := encodings["packed"]; len(text) > 1000 && len(long) > len(text)/5 {
			t.Errorf("%s: %d bytes are packed to %d", name, len(text), len(long))
		}
	}
}

func TestDamaged(t *testing.T) {
	t.Parallel()
	good := packed.Pack([]byte(strings.Repeat("abcdefgh", 100)))
	for name, p := range map[string][]byte{
		"nothing":       {},
		"a marker":      good[:1],
		"cut":           good[:len(good)-1],
		"a long length": append(bytes.Clone(good[:1]), 0xff, 0xff, 0xff, 0xff, 0x0f),
		"reserved type": {0b111},
		"gzip, a byte":  {0x1f},
		"gzip, cut":     zipped(t, []byte("some text"))[:20],
		"gzip, changed": bytes.Replace(zipped(t, []byte("some text")), []byte{9, 0, 0, 0}, []byte{8, 0, 0, 0}, 1),
		"deflated, cut": deflated(t, []byte("some text"), flate.BestSpeed)[:3],
	} {
		if got, err := packed.Append(nil, p, 1<<20); err == nil {
			t.Errorf("%s: no error, and %d bytes", name, len(got))
		}
	}
}

func FuzzPacked(f *testing.F) {
	f.Add([]byte("some text, some text"))
	f.Add(packed.Pack([]byte("some text, some text")))
	f.Add(zipped(f, []byte("some text, some text")))
	f.Add(deflated(f, []byte("some text, some text"), flate.BestSpeed))
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 1 << 16
		if got, err := packed.Append(nil, data, limit); err == nil && len(got) > limit {
			t.Errorf("%d bytes, over the limit", len(got))
		}
		if got, err := packed.Append(nil, packed.Pack(data), len(data)); err != nil || !bytes.Equal(got, data) {
			t.Errorf("packed and unpacked: %q, %v, want %q", got, err, data)
		}
	})
}

func BenchmarkPack(b *testing.B) {
	text := []byte("[" + strings.Repeat(`{"level":"notice","message":"Applied catalog in 1.23 seconds","source":"Puppet","tags":["notice"]},`, 100) + "1]")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		packed.Pack(text)
	}
}
