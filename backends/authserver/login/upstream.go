package login

import (
	"context"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
)

// EnterOrWait is like Enter, but requires a second factor of a user who has one here, although a provider has
// authenticated the user. For such a user, cookie is empty, and waiting is a signed text for the form that asks for
// the second factor; see Waiting. The parameter upstream is the provider's slug, for the audit feed.
func (l *Login) EnterOrWait(
	ctx context.Context, u *users.User, authTime time.Time, upstream string, a Attempt,
) (cookie, waiting string, err error) {
	if !u.Active() {
		return "", "", users.ErrDisabled
	}
	if waiting, err = l.waitingText(ctx, u, a.Browser, upstream); err != nil || waiting != "" {
		return "", waiting, err
	}
	cookie, err = l.Enter(ctx, u, authTime, a.Address, a.Former, "upstream", upstream)
	return cookie, "", err
}
