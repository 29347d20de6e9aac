package web_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"
)

// authenticator is a device with a passkey, and the browser in front of it (Web
// Authentication Level 3, sections 6.1 and 6.5).
type authenticator struct {
	t       *testing.T
	key     *ecdsa.PrivateKey
	id      []byte
	host    string // the relying party
	origin  string
	count   uint32
	handle  []byte
	present byte // flags
}

func newAuthenticator(t *testing.T, origin, host string) *authenticator {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authenticator{t: t, key: key, id: make([]byte, 32), host: host, origin: origin, present: 1}
	_, _ = rand.Read(a.id)
	return a
}

func coded(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

// options are the options of the page's request to the authenticator.
type options struct {
	Challenge string `json:"challenge"`
	RPID      string `json:"rpId"`
	RP        struct {
		ID string `json:"id"`
	} `json:"rp"`
	User struct {
		ID string `json:"id"`
	} `json:"user"`
	Verification string       `json:"userVerification"`
	Exclude      []descriptor `json:"excludeCredentials"`
	Allow        []descriptor `json:"allowCredentials"`
}

type descriptor struct {
	ID string `json:"id"`
}

func (a *authenticator) read(text string) (o options) {
	a.t.Helper()
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		a.t.Fatalf("%q: %v", text, err)
	}
	return o
}

// client returns the clientDataJSON.
func (a *authenticator) client(kind, challenge string) []byte {
	raw, err := json.Marshal(map[string]any{"type": kind, "challenge": challenge, "origin": a.origin, "crossOrigin": false})
	if err != nil {
		a.t.Fatal(err)
	}
	return raw
}

// data returns the authenticatorData.
func (a *authenticator) data(flags byte) []byte {
	host := sha256.Sum256([]byte(a.host))
	out := append(host[:], flags|a.present)
	return binary.BigEndian.AppendUint32(out, a.count)
}

// cborBytes returns the encoding of a byte string (RFC 8949 section 3.1, major type 2).
func cborBytes(raw []byte) []byte {
	return append(append([]byte{0x59}, size(raw)...), raw...)
}

// size returns a length in two bytes.
func size(raw []byte) []byte {
	return binary.BigEndian.AppendUint16(nil, uint16(len(raw))) //nolint:gosec // of tests, small
}

// makes returns the response to a page's request for a new passkey.
func (a *authenticator) makes(request string) string {
	a.t.Helper()
	o := a.read(request)
	if o.RP.ID != a.host {
		a.t.Errorf("the relying party is %q", o.RP.ID)
	}
	var err error
	if a.handle, err = base64.RawURLEncoding.DecodeString(o.User.ID); err != nil {
		a.t.Fatal(err)
	}
	client := a.client("webauthn.create", o.Challenge)
	point, err := a.key.PublicKey.Bytes()
	if err != nil {
		a.t.Fatal(err)
	}
	// {1: 2 (EC2), 3: -7 (ES256), -1: 1 (P-256), -2: x, -3: y} (RFC 9053 section 7.1.1)
	cose := bytes.Join([][]byte{{0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21}, cborBytes(point[1:33]), {0x22}, cborBytes(point[33:])}, nil)
	data := append(a.data(0x40), make([]byte, 16)...) // the AAGUID is zero
	data = append(append(data, size(a.id)...), a.id...)
	data = append(data, cose...)
	object := bytes.Join([][]byte{{0xa3, 0x63}, []byte("fmt"), {0x64}, []byte("none"), {0x67}, []byte("attStmt"), {0xa0, 0x68}, []byte("authData"), cborBytes(data)}, nil)
	return a.answer(map[string]any{"clientDataJSON": coded(client), "attestationObject": coded(object), "transports": []string{"internal"}})
}

// signs returns the response to a page's request for the passkey.
func (a *authenticator) signs(request string) string {
	a.t.Helper()
	o := a.read(request)
	if o.RPID != "as.example" || len(o.Allow) == 0 {
		a.t.Errorf("asked is %q", request)
	}
	return a.says(o.Challenge, nil)
}

// signsAlone returns the response to a page that asks for the passkey of any user.
func (a *authenticator) signsAlone(request string) string {
	a.t.Helper()
	o := a.read(request)
	if o.RPID != "as.example" || len(o.Allow) != 0 || o.Verification != "required" {
		a.t.Errorf("asked is %q", request)
	}
	return a.says(o.Challenge, a.handle)
}

// says returns the response to a challenge. Without a handle it names no user.
func (a *authenticator) says(challenge string, handle []byte) string {
	a.t.Helper()
	a.count++
	client := a.client("webauthn.get", challenge)
	sum := sha256.Sum256(client)
	data := a.data(0)
	digest := sha256.Sum256(append(bytes.Clone(data), sum[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, a.key, digest[:])
	if err != nil {
		a.t.Fatal(err)
	}
	response := map[string]any{
		"clientDataJSON": coded(client), "authenticatorData": coded(data), "signature": coded(signature),
	}
	if handle != nil {
		response["userHandle"] = coded(handle)
	}
	return a.answer(response)
}

func (a *authenticator) answer(response map[string]any) string {
	raw, err := json.Marshal(map[string]any{
		"id": coded(a.id), "rawId": coded(a.id), "type": "public-key", "clientExtensionResults": map[string]any{}, "response": response,
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return string(raw)
}
