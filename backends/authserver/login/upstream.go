package login

import (
	"context"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
)

// EnterOrWait is like Enter for a user who may have second factors here. They are required even after a sign-in at a
// provider. For such a user it returns no cookie but the signed text waiting, for the form that asks for a second
// factor; see Waiting. The upstream is the provider's slug, for the audit feed.
func (l *Login) EnterOrWait(
	ctx context.Context, u *users.User, at time.Time, upstream string, a Attempt,
) (cookie, waiting string, err error) {
	if !u.Active() {
		return "", "", users.ErrDisabled
	}
	if waiting, err = l.waits(ctx, u, a.Browser, upstream); err != nil || waiting != "" {
		return "", waiting, err
	}
	cookie, err = l.Enter(ctx, u, at, a.Address, a.Former, "upstream", upstream)
	return cookie, "", err
}
