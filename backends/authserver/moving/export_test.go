package moving_test

import (
	"encoding/base32"
	"strings"
	"testing"

	"github.com/pquerna/otp/totp"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/factors"
	"github.com/tollgate-gateway/tollgate/backends/authserver/moving"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestExport checks that a server can import another server's export, and that passwords, secrets and codes remain
// valid.
func TestExport(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		src := newTarget(t, k)
		src.applies(moving.Keycloak, realm(t), false)
		src.signsIn("ann@example.com")
		src.authenticates()
		if err := src.Write(t.Context(), func(c store.Conn) error {
			_, _, err := src.Users.Pend(c, "new@example.com", "")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		var file strings.Builder
		n, err := src.Export(t.Context(), &file)
		if err != nil {
			t.Fatal(err)
		}
		if n != (moving.Exported{Clients: 2, Users: 2, Pending: 1}) {
			t.Errorf("%+v", n)
		}
		if strings.Contains(file.String(), secret) || strings.Contains(file.String(), pass) {
			t.Error("a secret is stored in clear text")
		}

		dst := newTarget(t, authtest.SQLite(t))
		lines := dst.applies(moving.Tollgate, file.String(), false)
		for _, l := range lines {
			if l.Outcome != moving.Taken {
				t.Errorf("%+v", l)
			}
		}
		if len(lines) != 6 {
			t.Errorf("%d records, want 6", len(lines))
		}
		ann, shop := dst.signsIn("ann@example.com"), dst.authenticates()
		if ann.ID != "8a2f7b3e-0000-4000-8000-000000000001" || len(ann.Groups) != 2 || shop.Metadata.BackchannelLogout == "" || shop.SelfDeclared() {
			t.Errorf("%+v, %+v", ann, shop)
		}
		dst.takenOver(ann.ID, shop)
		code, err := totp.GenerateCode(base32.StdEncoding.EncodeToString([]byte("sixteen of bytes")), dst.Clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := dst.Factors.Check(t.Context(), ann, "", factors.Proof{Code: code}); err != nil {
			t.Errorf("the code of the app: %v", err)
		}
	})
}
