package webhook

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestStandardHeader checks the signature against the example of the reference implementation.
func TestStandardHeader(t *testing.T) {
	t.Parallel()
	secret, err := ParseStandardSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	got := StandardHeader(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), `{"test": 2432232314}`)
	for name, want := range map[string]string{
		"webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330",
		"webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
	} {
		if got.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, got.Get(name), want)
		}
	}
}

func TestParseStandardSecret(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "must begin with whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw": "must begin with whsec_", "whsec_!": "base64 after whsec_",
		"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2La": "24 to 64 bytes", "whsec_" + strings.Repeat("AAAA", 22): "24 to 64 bytes",
	} {
		if _, err := ParseStandardSecret(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestPost checks that a request has the given headers, and that addresses that are not public are refused.
func TestPost(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	header := http.Header{"Webhook-Id": {"msg_1"}}
	if status, reason := NewSender(nil, nil).Post(t.Context(), r.URL, header.Clone(), "{}"); status != 0 || reason == "" || strings.Contains(reason, r.URL) {
		t.Errorf("got the status %d and the reason %q, want a refusal without the URL", status, reason)
	}
	if status, reason := NewSender(loopback, nil).Post(t.Context(), r.URL, header, "{}"); status != http.StatusOK || reason != "" {
		t.Errorf("got the status %d and the reason %q, want 200", status, reason)
	}
	got := r.taken()
	if len(got) != 1 || got[0].body != "{}" || got[0].header.Get("webhook-id") != "msg_1" || got[0].header.Get("Content-Type") != "application/json" {
		t.Errorf("got the requests %v, want one with the headers and the body", got)
	}
}
