package authserver

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/pages/pagestest"
)

// The account that signs in, and the redirect URI of the applications.
const (
	annMail     = "ann@example.com"
	annPassword = "a long pass phrase of Ann"
	back        = "http://127.0.0.1:1/back"
)

// addAnn adds Ann with the command and returns its output.
func addAnn(n *e2e.Node, args ...string) string {
	n.T.Helper()
	cmd := exec.CommandContext(n.T.Context(), e2e.Binary, append([]string{"authserver", "user", "add", annMail}, args...)...)
	cmd.Dir, cmd.Env = n.Dir, n.Env
	cmd.Stdin = strings.NewReader(annPassword + "\n")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		n.T.Fatalf("%v\n%s%s", err, out, errs.String())
	}
	return string(out)
}

func newAnn(t *testing.T) *e2e.Person {
	t.Helper()
	return e2e.NewPerson(t, annMail, annPassword, back)
}

// guess signs in as Ann with a wrong password and returns the status of the answer.
func guess(t *testing.T, base string) (status int) {
	t.Helper()
	b := pagestest.New(t, base, true)
	fields := b.Get("/login").Fields()
	fields.Set("email", annMail)
	fields.Set("password", "a wrong one")
	return b.Post("/login", fields).StatusCode
}
