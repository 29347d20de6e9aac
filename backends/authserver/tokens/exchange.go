package tokens

import (
	"context"
	"slices"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// restsMost bounds what a token may rest on, and so how often it may be exchanged.
const restsMost = 32

// Exchange issues an access token in the place of one that came (RFC 8693), and returns
// its jti. It is of the same family, lives no longer, and rests on the one that came, on
// what that rests on, and on the consents: the claim rests_on names them, so that a look at
// what was denied tells of a token's ancestors on every node, whether the row of its
// issuance is written by then or not.
func (t *Tokens) Exchange(ctx context.Context, o Order, from *Claims, consents []string) (Answer, string, error) {
	o.restsOn = append(slices.Clone(from.RestsOn), from.ID)
	for _, id := range consents {
		if !slices.Contains(o.restsOn, id) {
			o.restsOn = append(o.restsOn, id)
		}
	}
	if len(o.restsOn) > restsMost {
		return Answer{}, "", kernel.Refuse(kernel.InvalidRequest, "the token has been exchanged too often; begin with one that was not")
	}
	left := time.Unix(from.Expires, 0).Sub(t.Now()).Truncate(time.Second)
	if left <= 0 {
		return Answer{}, "", kernel.Refuse(kernel.InvalidGrant, "the token that came ends just now")
	}
	o.Life = min(o.Life, left)
	o.Family, o.parent, o.consentClient = from.Family(), from.ID, from.Root()
	o.machine = from.Machine || from.Subject == from.Client
	if from.AuthTime != 0 {
		o.AuthTime, o.ACR = time.Unix(from.AuthTime, 0), from.ACR
	}
	answer, issued, err := t.make(ctx, o)
	if err != nil {
		return answer, "", err
	}
	t.Count("tokens_issued_total", clients.GrantExchange)
	t.note(ctx, issued)
	return answer, issued.JTI, nil
}

// below marks the issuances that a condition finds as revoked, and all that was exchanged
// from them.
func (t *Tokens) below(c store.Conn, where string, args ...any) error {
	_, err := c.Exec("WITH RECURSIVE ended (jti) AS (SELECT jti FROM authserver_issuances WHERE "+where+
		" UNION SELECT i.jti FROM authserver_issuances i JOIN ended e ON i.parent_jti = e.jti AND i.parent_jti <> '')"+
		" UPDATE authserver_issuances SET revoked_at = ? WHERE jti IN (SELECT jti FROM ended) AND revoked_at = 0", append(args, t.Micros())...)
	return err
}
