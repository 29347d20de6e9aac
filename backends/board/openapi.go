package board

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"sync"

	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// Version of the interface.
const Version = "0.37.6"

// components has the schemas that Routes names.
//
//go:embed schemas.json
var components []byte

// document is the OpenAPI document once it was made.
type document struct {
	once sync.Once
	text []byte
	tag  string // its entity tag
	err  error
}

// OpenAPI is the document of the API, OpenAPI 3.1. It is made once.
func (s *Service) OpenAPI() ([]byte, error) {
	d := &s.document
	d.once.Do(func() {
		d.text, d.err = rest.Document{
			Title: "Board", Version: Version, License: "MIT", LicenseID: "MIT", Server: s.options.BaseURL + Mount,
			Description: "A discussion board. A token acts as its owner and never as more; without one the caller is the guest.",
			Components:  components, Security: "bearerToken", PathSchema: `{"type":"integer","minimum":1}`,
		}.OpenAPI(s.Routes())
		sum := sha256.Sum256(d.text)
		d.tag = `"` + hex.EncodeToString(sum[:16]) + `"`
	})
	return d.text, d.err
}
