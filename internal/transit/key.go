package transit

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Types of keys.
const (
	ECDSAP256 = "ecdsa-p256"
	RSA2048   = "rsa-2048"
	AES256GCM = "aes256-gcm96"
)

// Key is a key of a server. It has versions; the latest is used by default.
type Key struct {
	client      *Client
	mount, name string
}

// Key returns the key with a name in the engine whose path is mount. It does not contact the server.
func (c *Client) Key(mount, name string) *Key { return &Key{c, escape(mount), escape(name)} }

// Version is a version of a signing key.
type Version struct {
	Number int
	// Public is an *ecdsa.PublicKey or an *rsa.PublicKey.
	Public any
	// CreatedAt is later than the CreatedAt of the previous version.
	CreatedAt time.Time
}

// Info describes a key.
type Info struct {
	Type   string
	Latest int
	// Versions are the versions that may still be used, oldest first. It is empty if the key does not sign.
	Versions []Version
}

// Info fetches the description of the key. If the key does not exist it returns an error for which Missing reports
// true.
func (k *Key) Info(ctx context.Context) (Info, error) {
	var data struct {
		Type     string                     `json:"type"`
		Latest   int                        `json:"latest_version"`
		Oldest   int                        `json:"min_decryption_version"`
		Versions map[string]json.RawMessage `json:"keys"`
	}
	if err := k.client.call(ctx, "keys", http.MethodGet, k.mount+"/keys/"+k.name, nil, &data); err != nil {
		return Info{}, k.failed("reading", err)
	}
	info := Info{Type: data.Type, Latest: data.Latest}
	for name, raw := range data.Versions {
		v := Version{}
		var err error
		if v.Number, err = strconv.Atoi(name); err != nil {
			return Info{}, k.failed("reading", errShape)
		}
		if v.Number < data.Oldest || len(raw) == 0 || raw[0] != '{' { // an encryption key has only a time here
			continue
		}
		var single struct {
			Public    string    `json:"public_key"`
			CreatedAt time.Time `json:"creation_time"`
		}
		if err := json.Unmarshal(raw, &single); err != nil {
			return Info{}, k.failed("reading", errShape)
		}
		if v.Public, err = parsePublic(single.Public); err != nil {
			return Info{}, k.failed("reading", err)
		}
		v.CreatedAt = single.CreatedAt
		info.Versions = append(info.Versions, v)
	}
	slices.SortFunc(info.Versions, func(a, b Version) int { return a.Number - b.Number })
	for i := 1; i < len(info.Versions); i++ { // some servers round times, so that two versions may have the same
		if previous := info.Versions[i-1].CreatedAt; !info.Versions[i].CreatedAt.After(previous) {
			info.Versions[i].CreatedAt = previous.Add(time.Microsecond)
		}
	}
	return info, nil
}

// errShape means that an answer does not have the expected form.
var errShape = fmt.Errorf("%w: its answer does not have the expected form", ErrUnavailable)

// parsePublic parses the public key of a version, in PEM.
func parsePublic(text string) (any, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("a version has no public key: the type of the key does not sign")
	}
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, errors.New("a public key cannot be read")
	}
	switch public := public.(type) {
	case *ecdsa.PublicKey:
		if public.Curve == elliptic.P256() {
			return public, nil
		}
	case *rsa.PublicKey:
		if public.N.BitLen() >= 2048 {
			return public, nil
		}
	}
	return nil, errors.New("a key must be a P-256 key, or an RSA key of at least 2048 bits")
}

// Create creates the key with the given type, such as AES256GCM, unless it exists.
func (k *Key) Create(ctx context.Context, kind string) error {
	return k.failed("creating", k.client.call(ctx, "create", http.MethodPost, k.mount+"/keys/"+k.name,
		map[string]string{"type": kind}, nil))
}

// Rotate creates another version, which is the latest from then on.
func (k *Key) Rotate(ctx context.Context) error {
	return k.failed("rotating", k.client.call(ctx, "rotate", http.MethodPost, k.mount+"/keys/"+k.name+"/rotate",
		struct{}{}, nil))
}

// Sign signs a SHA-256 digest with a version of the key. The signature has the format of a JSON Web Signature: R and S
// for P-256, or PKCS #1 v1.5 for RSA (RFC 7518, sections 3.3 and 3.4).
func (k *Key) Sign(ctx context.Context, v Version, digest []byte) ([]byte, error) {
	body := map[string]any{
		"input": base64.StdEncoding.EncodeToString(digest), "prehashed": true, "hash_algorithm": "sha2-256",
		"key_version": v.Number, "marshaling_algorithm": "jws",
	}
	size := 64 // of the signature, in bytes
	if public, ok := v.Public.(*rsa.PublicKey); ok {
		body["signature_algorithm"], size = "pkcs1v15", public.Size()
	}
	var data struct {
		Signature string `json:"signature"`
	}
	if err := k.client.call(ctx, "sign", http.MethodPost, k.mount+"/sign/"+k.name, body, &data); err != nil {
		return nil, k.failed("signing with", err)
	}
	number, text, ok := split(data.Signature)
	if !ok || number != v.Number {
		return nil, k.failed("signing with", errShape)
	}
	raw, err := base64.RawURLEncoding.DecodeString(plain.Replace(text))
	if err != nil {
		return nil, k.failed("signing with", errShape)
	}
	if _, ec := v.Public.(*ecdsa.PublicKey); ec && len(raw) != size { // a server that ignores marshaling_algorithm
		raw = fromDER(raw)
	}
	if len(raw) != size {
		return nil, k.failed("signing with",
			fmt.Errorf("%w: the length of the signature does not fit the key", ErrUnavailable))
	}
	return raw, nil
}

// plain converts base64 of the standard or the URL alphabet to the URL alphabet without padding.
var plain = strings.NewReplacer("+", "-", "/", "_", "=", "")

// fromDER extracts R and S from an ASN.1 signature. It returns nil if raw is not such a signature.
func fromDER(raw []byte) []byte {
	var s struct{ R, S *big.Int }
	rest, err := asn1.Unmarshal(raw, &s)
	if err != nil || len(rest) > 0 || s.R.Sign() <= 0 || s.S.Sign() <= 0 || s.R.BitLen() > 256 || s.S.BitLen() > 256 {
		return nil
	}
	out := make([]byte, 64)
	s.R.FillBytes(out[:32])
	s.S.FillBytes(out[32:])
	return out
}

// Encrypt encrypts plaintext and returns vault:v<version>:…, which Decrypt accepts only with the same associated data.
func (k *Key) Encrypt(ctx context.Context, plaintext, associated []byte) (string, error) {
	var data struct {
		Ciphertext string `json:"ciphertext"`
	}
	err := k.client.call(ctx, "encrypt", http.MethodPost, k.mount+"/encrypt/"+k.name, map[string]string{
		"plaintext":       base64.StdEncoding.EncodeToString(plaintext),
		"associated_data": base64.StdEncoding.EncodeToString(associated),
	}, &data)
	if err != nil {
		return "", k.failed("encrypting with", err)
	}
	if CipherVersion(data.Ciphertext) == 0 {
		return "", k.failed("encrypting with", errShape)
	}
	return data.Ciphertext, nil
}

// Decrypt reverses Encrypt. For a text that was not encrypted with this key and associated data the error is a
// RefusedError with status 400.
func (k *Key) Decrypt(ctx context.Context, ciphertext string, associated []byte) ([]byte, error) {
	var data struct {
		Plaintext *string `json:"plaintext"`
	}
	err := k.client.call(ctx, "decrypt", http.MethodPost, k.mount+"/decrypt/"+k.name, map[string]string{
		"ciphertext": ciphertext, "associated_data": base64.StdEncoding.EncodeToString(associated),
	}, &data)
	if err != nil {
		return nil, k.failed("decrypting with", err)
	}
	if data.Plaintext == nil {
		return nil, k.failed("decrypting with", errShape)
	}
	plaintext, err := base64.StdEncoding.DecodeString(*data.Plaintext)
	if err != nil {
		return nil, k.failed("decrypting with", errShape) // the cause may quote a part of the plaintext
	}
	return plaintext, nil
}

// CipherVersion returns the key version with which a text was encrypted, or 0 if the text is not a result of Encrypt.
func CipherVersion(ciphertext string) int {
	number, text, ok := split(ciphertext)
	if !ok || text == "" {
		return 0
	}
	return number
}

// split splits a text of the form vault:v<version>:<rest>. ok is false for any other text.
func split(text string) (number int, rest string, ok bool) {
	text, ok = strings.CutPrefix(text, "vault:v")
	if !ok {
		return 0, "", false
	}
	digits, rest, ok := strings.Cut(text, ":")
	number, err := strconv.Atoi(digits)
	return number, rest, ok && err == nil && number > 0 && strconv.Itoa(number) == digits
}

// failed adds the name of the key and the failed operation to an error. It returns nil for a nil error.
func (k *Key) failed(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s the key %s/%s: %w", doing, k.mount, k.name, err)
}
