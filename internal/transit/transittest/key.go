package transittest

import (
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// key is a key with its versions, the first of which is version 1.
type key struct {
	kind     string
	oldest   int
	versions []version
}

type version struct {
	created time.Time
	signer  crypto.Signer // nil for a key that encrypts
	secret  []byte
}

func newKey(kind string) (*key, error) {
	k := &key{kind: kind, oldest: 1}
	switch kind {
	case "ecdsa-p256", "rsa-2048", "aes256-gcm96":
		k.rotate()
		return k, nil
	}
	return nil, refuse(http.StatusBadRequest, "unknown key type "+kind)
}

func (k *key) rotate() {
	v := version{created: time.Now()}
	switch k.kind {
	case "ecdsa-p256":
		v.signer, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "rsa-2048":
		v.signer, _ = rsa.GenerateKey(rand.Reader, 2048)
	default:
		v.secret = make([]byte, 32)
		_, _ = rand.Read(v.secret)
	}
	k.versions = append(k.versions, v)
}

func (k *key) info() map[string]any {
	versions := make(map[string]any)
	for i, v := range k.versions {
		switch number := strconv.Itoa(i + 1); {
		case i+1 < k.oldest:
		case v.signer == nil:
			versions[number] = v.created.Unix()
		default:
			der, _ := x509.MarshalPKIXPublicKey(v.signer.Public())
			versions[number] = map[string]any{
				"name": "P-256", "creation_time": v.created.Format(time.RFC3339Nano),
				"public_key": string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})),
			}
		}
	}
	return map[string]any{
		"type": k.kind, "latest_version": len(k.versions), "min_decryption_version": k.oldest, "keys": versions,
	}
}

// text decodes a base64 member of a body.
func text(body map[string]any, name string) ([]byte, error) {
	value, _ := body[name].(string)
	raw, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "failed to base64-decode "+name)
	}
	return raw, nil
}

// sign returns the signature of the digest in body, in the form vault:v<version>:<base64>. f may change its encoding.
func (k *key) sign(body map[string]any, f Faults) (string, error) {
	digest, err := text(body, "input")
	if err != nil {
		return "", err
	}
	number, _ := body["key_version"].(float64)
	versionNumber := int(number)
	switch {
	case versionNumber < k.oldest || versionNumber > len(k.versions) || k.versions[versionNumber-1].signer == nil:
		return "", refuse(http.StatusBadRequest, "cannot sign with this version")
	case body["prehashed"] != true || body["hash_algorithm"] != "sha2-256" || len(digest) != 32:
		return "", refuse(http.StatusBadRequest, "input is not a digest of sha2-256")
	}
	var raw []byte
	switch private := k.versions[versionNumber-1].signer.(type) {
	case *ecdsa.PrivateKey:
		if body["marshaling_algorithm"] != "jws" {
			return "", refuse(http.StatusBadRequest, "the marshaling_algorithm must be jws")
		}
		r, s, err := ecdsa.Sign(rand.Reader, private, digest)
		if err != nil {
			return "", err
		}
		raw = make([]byte, 64)
		r.FillBytes(raw[:32])
		s.FillBytes(raw[32:])
		if f.DER {
			raw, _ = asn1.Marshal(struct{ R, S *big.Int }{r, s})
		}
	case *rsa.PrivateKey:
		if body["signature_algorithm"] != "pkcs1v15" {
			return "", refuse(http.StatusBadRequest, "the signature_algorithm must be pkcs1v15")
		}
		if raw, err = rsa.SignPKCS1v15(rand.Reader, private, crypto.SHA256, digest); err != nil {
			return "", err
		}
	}
	encoding := base64.RawURLEncoding
	if f.Standard || k.kind != "ecdsa-p256" {
		encoding = base64.StdEncoding
	}
	return fmt.Sprintf("vault:v%d:%s", versionNumber, encoding.EncodeToString(raw)), nil
}

func (v version) aead() (cipher.AEAD, error) {
	block, err := aes.NewCipher(v.secret)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "the key does not encrypt")
	}
	return cipher.NewGCM(block)
}

func (k *key) encrypt(body map[string]any) (string, error) {
	plaintext, err := text(body, "plaintext")
	if err != nil {
		return "", err
	}
	associated, err := text(body, "associated_data")
	if err != nil {
		return "", err
	}
	aead, err := k.versions[len(k.versions)-1].aead()
	if err != nil {
		return "", err
	}
	nonce := make([]byte, aead.NonceSize())
	_, _ = rand.Read(nonce)
	return fmt.Sprintf("vault:v%d:%s", len(k.versions),
		base64.StdEncoding.EncodeToString(aead.Seal(nonce, nonce, plaintext, associated))), nil
}

// decrypt returns the plaintext of the ciphertext in body, in base64.
func (k *key) decrypt(body map[string]any) (string, error) {
	associated, err := text(body, "associated_data")
	if err != nil {
		return "", err
	}
	ciphertext, _ := body["ciphertext"].(string)
	parts := strings.SplitN(ciphertext, ":", 3)
	if len(parts) != 3 || parts[0] != "vault" || !strings.HasPrefix(parts[1], "v") {
		return "", refuse(http.StatusBadRequest, "invalid ciphertext: no prefix")
	}
	versionNumber, err := strconv.Atoi(parts[1][1:])
	if err != nil || versionNumber < k.oldest || versionNumber > len(k.versions) {
		return "", refuse(http.StatusBadRequest, "ciphertext or signature version is disallowed by policy (too old)")
	}
	aead, err := k.versions[versionNumber-1].aead()
	if err != nil {
		return "", err
	}
	raw, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil || len(raw) < aead.NonceSize() {
		return "", refuse(http.StatusBadRequest, "invalid ciphertext: could not decode base64")
	}
	plaintext, err := aead.Open(nil, raw[:aead.NonceSize()], raw[aead.NonceSize():], associated)
	if err != nil {
		return "", refuse(http.StatusBadRequest, "cipher: message authentication failed")
	}
	return base64.StdEncoding.EncodeToString(plaintext), nil
}
