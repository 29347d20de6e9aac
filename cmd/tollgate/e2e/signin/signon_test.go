package signin

import (
	"os"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestSingleSignOn runs the cases of testdata/npm/signon.mjs in a headless Chromium: users of the board, the CMS
// administration and the home page sign in at the authorization server, and one sign-out ends all sessions.
func TestSingleSignOn(t *testing.T) {
	t.Parallel()
	issuer, forum, www, home := "http://localhost:"+e2e.FreePort(t), "http://localhost:"+e2e.FreePort(t), "http://localhost:"+e2e.FreePort(t), "http://localhost:"+e2e.FreePort(t)
	n := e2e.NewNode(t, strings.NewReplacer("ISSUER", issuer, "FORUM", forum, "WWW", www, "HOME", home).Replace(`{
	admin unix/data/admin.sock
	persist_config off
	tollgate {
		database sqlite data/tollgate.db
	}
}
ISSUER {
	tollgate authserver {
		config keys.yaml
	}
}
FORUM {
	tollgate board {
		base_url FORUM
		oidc ISSUER forum {
			scopes openid profile email groups
			label "Our people"
			group admins administrators
		}
	}
}
WWW {
	tollgate cms {
		oidc ISSUER www {
			scopes openid email groups
			group admins superuser
		}
	}
}
HOME {
	tollgate home {
		oidc ISSUER home {
			scopes openid profile email groups
			group admins administrators
		}
	}
}
`))
	keys := `server: {issuer: "` + issuer + `"}
dcr: {mode: admin_only}
clients:
  - {client_id: forum, client_name: The forum, grant_types: [authorization_code], redirect_uris: ["` + forum + `/login/oidc/callback"]}
  - {client_id: www, client_name: The site, grant_types: [authorization_code], redirect_uris: ["` + www + `/admin/login/oidc/callback"]}
  - {client_id: home, client_name: Home, first_party: true, grant_types: [authorization_code], redirect_uris: ["` + home + `/_tollgate/login/callback"]}
`
	if err := os.WriteFile(n.Path("keys.yaml"), []byte(keys), 0o600); err != nil {
		t.Fatal(err)
	}
	n.Start()
	ann := strings.TrimSpace(n.Tool("authserver", "user", "add", "ann@example.com", "--name", "Ann", "--verified", "--group", "admins", "--generate"))
	bob := strings.TrimSpace(n.Tool("authserver", "user", "add", "bob@example.com", "--name", "Bob", "--generate"))
	e2e.RunBrowser(t, "signon.mjs", "FORUM="+forum, "WWW="+www, "HOME_PAGE="+home, "ISSUER="+issuer, "ANN="+ann, "BOB="+bob, "SHOTS="+os.Getenv("TOLLGATE_SHOTS"))
}
