package tokens

import (
	"context"
	"slices"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// maxRestsOn is the maximum length of rests_on. It limits how many tokens and consents a token depends on, and thereby
// how many exchanges may follow one another, each of which exchanges the token that the previous one issued.
const maxRestsOn = 32

// Exchange issues an access token in exchange for the token with the claims oldClaims (RFC 8693), and returns the
// response and the jti of the new token. The new token belongs to the same family as the old one and does not expire
// later. The list consents has the ids of the consents that the exchange depends on.
//
// The claim rests_on of the new token lists the old token, the entries of the old token's rests_on, and the consents.
// Every node can therefore check the ancestors of a token against the denied ids, even before the row of its issuance
// is written.
func (t *Tokens) Exchange(ctx context.Context, o Order, oldClaims *Claims, consents []string) (Answer, string, error) {
	o.restsOn = append(slices.Clone(oldClaims.RestsOn), oldClaims.ID)
	for _, id := range consents {
		if !slices.Contains(o.restsOn, id) {
			o.restsOn = append(o.restsOn, id)
		}
	}
	if len(o.restsOn) > maxRestsOn {
		return Answer{}, "", kernel.Refuse(kernel.InvalidRequest,
			"the subject token is the result of too many exchanges in a row; exchange an earlier token instead")
	}
	remaining := time.Unix(oldClaims.Expires, 0).Sub(t.Now()).Truncate(time.Second)
	if remaining <= 0 {
		return Answer{}, "", kernel.Refuse(kernel.InvalidGrant, "the subject token is about to expire")
	}
	o.Life = min(o.Life, remaining)
	o.Family, o.parent, o.consentClient = oldClaims.Family(), oldClaims.ID, oldClaims.Root()
	o.machine = oldClaims.Machine || oldClaims.Subject == oldClaims.Client
	if oldClaims.AuthTime != 0 {
		o.AuthTime, o.ACR = time.Unix(oldClaims.AuthTime, 0), oldClaims.ACR
	}
	answer, issued, err := t.signAccessToken(ctx, o)
	if err != nil {
		return answer, "", err
	}
	t.Count("tokens_issued_total", clients.GrantExchange)
	t.queueIssuance(ctx, issued)
	return answer, issued.JTI, nil
}

// revokeDerived marks as revoked the issuances that match a condition in SQL with the arguments args, and all issuances
// of tokens that were exchanged from them, directly or indirectly.
func (t *Tokens) revokeDerived(c store.Conn, condition string, args ...any) error {
	_, err := c.Exec("WITH RECURSIVE ended (jti) AS (SELECT jti FROM authserver_issuances WHERE "+condition+
		" UNION SELECT i.jti FROM authserver_issuances i JOIN ended e ON i.parent_jti = e.jti AND i.parent_jti <> '')"+
		" UPDATE authserver_issuances SET revoked_at = ? WHERE jti IN (SELECT jti FROM ended) AND revoked_at = 0",
		append(args, t.Micros())...)
	return err
}
