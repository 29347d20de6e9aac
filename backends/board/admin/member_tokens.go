package admin

import (
	"context"
	"math"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// TokenRow is a token in the views of administrators.
type TokenRow struct {
	accounts.TokenInfo
	User      int64
	UserName  string
	RevokedAt kernel.Moment // 0 if the token is not revoked
	Expired   bool
}

// Tokens lists the tokens of the member with the name user or, if user is empty, of all members, newest first. The list
// includes expired and revoked tokens. cursor is the previous page's next, or 0 for the first page. next is 0 on the
// last page.
func (s *Service) Tokens(
	ctx context.Context, a *rights.Actor, user string, cursor int64, limit int,
) (list []TokenRow, next int64, err error) {
	if cursor == 0 {
		cursor = math.MaxInt64
	}
	err = s.rights.ReadAsAdministrator(ctx, a, func(c store.Conn) error {
		list, next = nil, 0
		conds, args := "t.id < ?", []any{cursor}
		if user != "" {
			conds += " AND t.user_id = (SELECT id FROM board_users WHERE username_key = ?)"
			args = append(args, text.Fold(user))
		}
		list, err = store.List(c, func(r store.Row) (t TokenRow, err error) {
			var scopes string
			err = r.Scan(&t.ID, &t.Name, &t.Lookup, &scopes, &t.CreatedAt, &t.ExpiresAt, &t.LastUsedAt, &t.RevokedAt, &t.User,
				&t.UserName)
			t.Scopes = rights.ScopesOf(strings.Fields(scopes))
			t.Expired = t.ExpiresAt != 0 && t.ExpiresAt <= s.Moment()
			return t, err
		}, "SELECT t.id, t.name, t.lookup, t.scopes, t.created_at, COALESCE(t.expires_at, 0),"+
			" COALESCE(t.last_used_at, 0), COALESCE(t.revoked_at, 0), t.user_id, u.username"+
			" FROM board_api_tokens t JOIN board_users u ON u.id = t.user_id WHERE "+conds+" ORDER BY t.id DESC LIMIT ?",
			append(args, limit+1)...)
		list, next = store.CutAt(list, limit, func(t TokenRow) int64 { return t.ID })
		return err
	})
	return list, next, err
}

// IssueTokenFor creates a token for any member and returns its text, which is not stored.
func (s *Service) IssueTokenFor(
	ctx context.Context, a *rights.Actor, r accounts.TokenRequest,
) (token string, err error) {
	if err := s.rights.Administrator(a); err != nil {
		return "", err
	}
	if err := accounts.CheckToken(r); err != nil {
		return "", err
	}
	return rights.AdministerValue(ctx, s.rights, a, func(c store.Conn) (token string, err error) {
		if token, err = s.accounts.Issue(c, r, text.Normal(r.Name), rights.ScopesOf(r.Scopes)); err != nil {
			return token, err
		}
		return token, s.rights.LogChange(c, a, "token.issue", kernel.ForLog(r.User)+": "+kernel.ForLog(r.Name)+", "+
			strings.Join(rights.ScopesOf(r.Scopes), " "))
	})
}

// RevokeTokenFor revokes a token of any member. It returns NotFound if the token is revoked already.
func (s *Service) RevokeTokenFor(ctx context.Context, a *rights.Actor, id int64) error {
	var lookup string
	err := s.rights.Administer(ctx, a, func(c store.Conn) error {
		var user, name string
		err := c.Row("SELECT t.lookup, t.name, u.username FROM board_api_tokens t JOIN board_users u ON u.id = t.user_id"+
			" WHERE t.id = ? AND t.revoked_at IS NULL", id).
			Scan(&lookup, &name, &user)
		if err != nil {
			return kernel.OrNotFound(err)
		}
		if _, err := c.Exec("UPDATE board_api_tokens SET revoked_at = ? WHERE id = ?", s.Moment(), id); err != nil {
			return err
		}
		return s.rights.LogChange(c, a, "token.revoke", kernel.ForLog(user)+": "+kernel.ForLog(name))
	})
	s.accounts.ForgetTokens(lookup)
	return err
}
