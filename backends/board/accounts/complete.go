package accounts

import (
	"context"
	"time"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

const (
	maxCompleted = 8  // the maximum number of names that Complete returns
	minCompleted = 2  // the minimum number of characters of a beginning
	namesRead    = 50 // how many names are read, to find active members among them
)

// completions limits how often a member may call Complete, so that nobody reads the whole list of members with it.
var completions = attemptLimit("complete", 120, time.Minute)

// Complete returns up to eight names of active members that begin with prefix, in sorted order. The actor needs the
// right to see the list of members. If prefix has only one character, Complete returns no names.
func (s *Service) Complete(ctx context.Context, a *rights.Actor, prefix string) (names []string, err error) {
	if a.User == nil || !a.May(rights.MemberlistView) {
		return nil, kernel.Forbidden("q", "no_permission", "you may not see the list of members")
	}
	key := text.Fold(prefix)
	if utf8.RuneCountInString(key) < minCompleted || len(prefix) > maxNameBytes {
		return nil, nil
	}
	wait, err := kernel.Value(ctx, s.Write, func(c store.Conn) (time.Duration, error) {
		return completions.Of(kernel.Itoa(a.ID())).Try(c, s.Now())
	})
	if err == nil && wait > 0 {
		err = kernel.Flooded(wait)
	}
	if err != nil {
		return nil, err
	}
	return kernel.Value(ctx, s.Read, func(c store.Conn) ([]string, error) {
		// Keys are compared by their bytes, so the keys with the same beginning form a range. The inner limit bounds the
		// cost if many of these members are not active.
		return store.List(c, func(r store.Row) (name string, err error) { return name, r.Scan(&name) },
			"SELECT w.username FROM (SELECT username, username_key, state FROM board_users WHERE username_key >= ?"+
				" AND username_key < ? ORDER BY username_key LIMIT ?) w WHERE w.state = 'active' ORDER BY w.username_key LIMIT ?",
			key, key+"\U0010FFFF", namesRead, maxCompleted)
	})
}
