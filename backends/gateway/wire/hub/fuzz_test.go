package hub_test

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/messages"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/responses"
)

// FuzzTranslateStream checks that any bytes of an upstream become a stream that strict clients of each format accept,
// and that the stream does not depend on how the bytes are divided.
func FuzzTranslateStream(f *testing.F) {
	readers := [...]func() hub.Reader{
		func() hub.Reader { return chat.NewReader("", false) },
		func() hub.Reader { return chat.NewReader(hub.FormThought, false) },
		func() hub.Reader { return chat.NewReader(hub.FormDetails, false) },
		func() hub.Reader { return messages.Format{}.NewReader(nil) }, func() hub.Reader { return responses.Format{}.NewReader(nil) },
	}
	for _, c := range goldenCases(f) {
		for i := range 3 {
			f.Add(c.upstream, byte(i))
		}
	}
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 2))
		s := speak(random, false)
		f.Add([]byte(s.messagesStream(random)), byte(3))
		f.Add([]byte(s.responsesStream(random)), byte(4))
	}
	base := readCase(f, "testdata/golden/18-custom-tool")
	other := readCase(f, "testdata/golden/01-plain-text")
	writers := map[hub.Format]func(*hub.Request, hub.Reply) hub.Writer{hub.Chat: chat.Format{}.NewWriter, hub.Messages: messages.Format{}.NewWriter, hub.Responses: responses.Format{}.NewWriter}
	f.Fuzz(func(t *testing.T, upstream []byte, kind byte) {
		if len(upstream) > 1<<16 {
			return
		}
		c := &goldenCase{upstream: upstream}
		reader := readers[int(kind)%len(readers)]
		for _, r := range [...]*hub.Request{base.requests[hub.Messages], base.requests[hub.Responses], other.requests[hub.Messages], other.requests[hub.Responses], other.requests[hub.Chat]} {
			play := func(bytewise bool) []byte {
				pass := hub.Translate(reader(), writers[r.Format](r, reply(r, sealReadably)))
				if bytewise {
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
