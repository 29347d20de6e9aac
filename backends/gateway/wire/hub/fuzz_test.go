package hub_test

import (
	"bytes"
	"testing"
	"testing/iotest"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// FuzzTranslateStream: whatever an upstream sends, a client of each format gets a stream
// that strict clients take, and the same however the upstream's bytes are cut.
func FuzzTranslateStream(f *testing.F) {
	forms := [...]hub.Form{"", hub.FormThought, hub.FormDetails}
	for _, c := range goldenCases(f) {
		for i := range forms {
			f.Add(c.upstream, byte(i))
		}
	}
	base := readCase(f, "testdata/golden/18-custom-tool")
	other := readCase(f, "testdata/golden/01-plain-text")
	f.Fuzz(func(t *testing.T, upstream []byte, form byte) {
		if len(upstream) > 1<<16 {
			return
		}
		c := &goldenCase{upstream: upstream}
		for _, r := range [...]*hub.Request{base.requests[hub.Messages], base.requests[hub.Responses], other.requests[hub.Messages], other.requests[hub.Responses]} {
			play := func(one bool) []byte {
				pass := newPass(r, forms[int(form)%len(forms)], sealReadably)
				if one {
					out, _ := relay(pass, iotest.OneByteReader(bytes.NewReader(upstream)))
					return c.steady(out)
				}
				out, err := relay(pass, bytes.NewReader(upstream))
				if err != nil && len(out) > 0 {
					t.Fatalf("%s: it failed and wrote %s", r.Format, out)
				}
				return c.steady(out)
			}
			out := play(false)
			if len(out) == 0 {
				continue
			}
			if err := checkStream(r.Format, out, false); err != nil {
				t.Fatalf("%s: %v in\n%s", r.Format, err, out)
			}
			if got := play(true); !bytes.Equal(got, out) {
				t.Fatalf("%s: byte by byte it is\n%s\nat once\n%s", r.Format, got, out)
			}
		}
	})
}
