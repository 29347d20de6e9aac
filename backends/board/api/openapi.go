package api

import (
	_ "embed"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// Version is the version of the API.
const Version = "0.37.6"

// components holds the schemas that Routes refers to.
//
//go:embed schemas.json
var components []byte

// openAPI returns the OpenAPI 3.1 document of the API.
func (s *service) openAPI() ([]byte, error) {
	return rest.Document{
		Title: "Board", Version: Version, License: "MIT", LicenseID: "MIT", Server: s.kernel.Options.BaseURL + kernel.Mount,
		Description: "A discussion board. A request with a token has the rights of the token's owner, limited by the" +
			" token's scopes. A request without a token has the rights of a guest.",
		Components: components, Security: "bearerToken", PathSchema: `{"type":"integer","minimum":1}`,
	}.OpenAPI(s.routes())
}
