package account

import (
	"net/http"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
)

// Registration defines who may create an account.
type Registration struct {
	// Open allows everybody to register. Default: the operator creates or invites each user.
	Open bool
	// Domains are the permitted domains of mail addresses, in lower case. Default: all domains.
	Domains []string
}

// admits returns an error if a user with a mail address may not register.
func (r *Registration) admits(email string) error {
	if !r.Open {
		return apierror.New(http.StatusForbidden, "forbidden", "nobody can register here; ask the operator for an account")
	}
	email, err := users.Address(email)
	if err != nil {
		return err
	}
	_, domain, _ := strings.Cut(mailaddress.Key(email), "@")
	if len(r.Domains) > 0 && !slices.Contains(r.Domains, domain) {
		return users.Invalid("email", "the mail address must end in @"+strings.Join(r.Domains, " or @"))
	}
	return nil
}
