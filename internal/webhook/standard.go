package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Header names of the Standard Webhooks specification (standardwebhooks.com), version 1.
const (
	StandardID        = "Webhook-Id"
	StandardTimestamp = "Webhook-Timestamp"
	StandardSignature = "Webhook-Signature"
)

// Limits for the size of a secret according to Standard Webhooks, in bytes.
const (
	minStandardSecret = 24
	maxStandardSecret = 64
)

// ParseStandardSecret parses a secret of Standard Webhooks: whsec_ and 24 to 64 bytes in base64.
func ParseStandardSecret(text string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(text, secretPrefix)
	if !ok {
		return nil, errors.New("the secret must begin with " + secretPrefix)
	}
	secret, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, errors.New("the secret must have base64 after " + secretPrefix)
	}
	if len(secret) < minStandardSecret || len(secret) > maxStandardSecret {
		return nil, errors.New("the secret must have 24 to 64 bytes before its base64 encoding")
	}
	return secret, nil
}

// StandardHeader returns the headers of a message of Standard Webhooks. id is the same in all attempts of a message and
// must not contain a dot.
func StandardHeader(secret []byte, id string, sendTime time.Time, body string) http.Header {
	timestamp := strconv.FormatInt(sendTime.Unix(), 10)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id + "." + timestamp + "." + body))
	header := make(http.Header, 5)
	header.Set(StandardID, id)
	header.Set(StandardTimestamp, timestamp)
	header.Set(StandardSignature, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return header
}
