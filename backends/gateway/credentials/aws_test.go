package credentials

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
)

// TestSign checks a signature against the worked example of the AWS General Reference ("Signature
// Version 4 signing process", GET ListUsers).
func TestSign(t *testing.T) {
	t.Parallel()
	target, err := url.Parse("https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08")
	if err != nil {
		t.Fatal(err)
	}
	p := &catalog.Provider{Auth: catalog.AuthAWS, SigningService: "iam", SigningRegion: "us-east-1"}
	now := time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)
	request := func() *http.Request {
		return &http.Request{Method: http.MethodGet, URL: target, Host: target.Host, Header: http.Header{
			"Content-Type": {"application/x-www-form-urlencoded; charset=utf-8"}, "Via": {"changed on the way"},
		}}
	}
	closed := 0
	tokens := NewTokens(func() time.Time { return now })
	open := func() io.ReadCloser { return &counted{strings.NewReader(""), &closed} }

	r := request()
	key := `{"access_key_id":"AKIDEXAMPLE","secret_access_key":"wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}`
	if err := tokens.Sign(r, p, key, nil, open); err != nil {
		t.Fatal(err)
	}
	const want = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, SignedHeaders=content-type;host;x-amz-date, " +
		"Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"
	if got := r.Header.Get("Authorization"); got != want || r.Header.Get("X-Amz-Date") != "20150830T123600Z" || closed != 1 {
		t.Errorf("Authorization %s, date %s, closed %d times", got, r.Header.Get("X-Amz-Date"), closed)
	}

	r = request()
	key = strings.TrimSuffix(key, "}") + `,"session_token":"the-session"}`
	if err := tokens.Sign(r, p, key, nil, open); err != nil || r.Header.Get("X-Amz-Security-Token") != "the-session" ||
		!strings.Contains(r.Header.Get("Authorization"), "x-amz-security-token") {
		t.Errorf("%v, %v", err, r.Header)
	}

	for _, key := range []string{
		`{`, `{}`, `{"access_key_id":"A"}`, `{"secret_access_key":"s"}`, "{\"access_key_id\":\"A\\n\",\"secret_access_key\":\"s\"}",
		`{"access_key_id":"A","secret_access_key":"s","session_token":"a b"}`, `{"client_id":"a"}`,
	} {
		r, refused := request(), (*Error)(nil)
		if err := tokens.Sign(r, p, key, nil, open); !errors.As(err, &refused) || !refused.Refused || r.Header.Get("Authorization") != "" {
			t.Errorf("%s: %v", key, err)
		}
	}
	for _, other := range []struct{ auth, key string }{{catalog.AuthAWS, "bedrock-api-key"}, {catalog.AuthGoogle, key}} {
		r := request()
		if err := tokens.Sign(r, &catalog.Provider{Auth: other.auth}, other.key, nil, nil); err != nil || r.Header.Get("Authorization") != "" {
			t.Errorf("%s: %v, %v", other.auth, err, r.Header)
		}
	}
}

// counted counts the calls of Close.
type counted struct {
	io.Reader
	closed *int
}

// Close implements io.Closer.
func (c *counted) Close() error {
	*c.closed++
	return nil
}
