package keychain

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema/schematest"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
)

//go:fix inline
func TestUsers(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		first := n.user(t, "alice")
		if !first.IsPrimary || first.Label != "primary" || first.UserID != "alice" || first.RateLimitPerMinute != nil ||
			first.EffortMode != EffortOverride || first.Revoked || len(first.Key) != len(KeyPrefix)+keyBytes || !strings.HasPrefix(first.Key, "ak-") {
			t.Errorf("first key %+v", first)
		}
		user, key, created, err := n.InitUser(t.Context(), "alice")
		if err != nil || created || key != nil || user.ID != "alice" || !user.CreatedAt.Equal(first.CreatedAt) {
			t.Errorf("again: %+v, %v, %t, error %v", user, key, created, err)
		}
		n.user(t, "carol")
		n.user(t, "bob")
		for _, test := range []struct {
			after string
			limit int
			want  string
		}{{"", 10, "alice bob carol"}, {"", 2, "alice bob"}, {"bob", 2, "carol"}, {"carol", 2, ""}} {
			users, err := n.Users(t.Context(), "", test.after, test.limit)
			if err != nil {
				t.Fatal(err)
			}
			ids := make([]string, 0, len(users))
			for _, u := range users {
				ids = append(ids, u.ID)
			}
			if got := strings.Join(ids, " "); got != test.want {
				t.Errorf("after %q: %s, want %s", test.after, got, test.want)
			}
		}
		if _, err := n.User(t.Context(), "dave"); err == nil {
			t.Error("dave is found")
		} else {
			wantRefusal(t, err, http.StatusNotFound, "not_found", "")
		}
		for _, id := range []string{"", strings.Repeat("é", 201), "a\x00b", "a\nb", "a\xffb", "\x7f"} {
			_, _, _, err := n.InitUser(t.Context(), id)
			wantRefusal(t, err, http.StatusBadRequest, "invalid_value", "user_id")
		}
		if user, _, created, err := n.InitUser(t.Context(), strings.Repeat("é", 200)); err != nil || !created || len(user.ID) != 400 {
			t.Errorf("200 characters: created %t, error %v", created, err)
		}
	})
}

// TestInitUserOnce creates the same user from many goroutines. Only one of them gets the key.
func TestInitUserOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		var keys sync.Map
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				_, key, created, err := n.InitUser(t.Context(), "alice")
				if err != nil {
					t.Error(err)
				}
				if created {
					keys.Store(i, key.Key)
				}
			})
		}
		all.Wait()
		count := 0
		keys.Range(func(_, key any) bool {
			count++
			if _, err := n.Authenticate(t.Context(), key.(string)); err != nil {
				t.Error(err)
			}
			return true
		})
		if rows, err := n.Keys(t.Context(), "alice"); err != nil || count != 1 || len(rows) != 1 {
			t.Errorf("%d keys handed out, %d stored, error %v", count, len(rows), err)
		}
	})
}

func TestKeyLifecycle(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		primary := n.user(t, "alice")
		key, err := n.CreateKey(t.Context(), "alice", KeyOptions{Label: "ci", Limits: Limits{RateLimitPerMinute: new(int64(60))}})
		if err != nil {
			t.Fatal(err)
		}
		if key.IsPrimary || key.Label != "ci" || *key.RateLimitPerMinute != 60 || key.ID == primary.ID || key.Key == primary.Key {
			t.Errorf("made %+v", key)
		}
		id, err := n.Authenticate(t.Context(), key.Key)
		if err != nil || id.UserID != "alice" || id.KeyID != key.ID || id.Label != "ci" || *id.RateLimitPerMinute != 60 || id.EffortMode != EffortOverride {
			t.Errorf("identity %+v, error %v", id, err)
		}

		// The next request to this service sees a change.
		changed, err := n.UpdateKey(t.Context(), "alice", key.ID, KeyChange{Label: new("build"), EffortMode: new(EffortMax)})
		if err != nil || changed.Label != "build" || *changed.RateLimitPerMinute != 60 || changed.EffortMode != EffortMax {
			t.Errorf("changed %+v, error %v", changed, err)
		}
		if id, err = n.Authenticate(t.Context(), key.Key); err != nil || id.Label != "build" || id.EffortMode != EffortMax {
			t.Errorf("identity %+v, error %v", id, err)
		}
		if changed, err = n.UpdateKey(t.Context(), "alice", key.ID, KeyChange{Limits: func(l *Limits) { l.RateLimitPerMinute = nil }}); err != nil || changed.RateLimitPerMinute != nil || changed.Label != "build" {
			t.Errorf("unlimited %+v, error %v", changed, err)
		}
		if _, err = n.UpdateKey(t.Context(), "alice", key.ID, KeyChange{Limits: func(l *Limits) { l.RateLimitPerMinute = new(int64(1)) }}); err != nil {
			t.Error(err)
		}

		// The new primary key takes over the settings of the one that it replaces.
		if _, err := n.UpdateKey(t.Context(), "alice", primary.ID, KeyChange{Label: new("mine"), EffortMode: new(EffortModelWins), Limits: func(l *Limits) { l.RateLimitPerMinute = new(int64(7)) }}); err != nil {
			t.Fatal(err)
		}
		if _, err := n.Authenticate(t.Context(), primary.Key); err != nil {
			t.Fatal(err)
		}
		rotated, err := n.RegenerateKey(t.Context(), "alice")
		if err != nil {
			t.Fatal(err)
		}
		if !rotated.IsPrimary || rotated.Label != "mine" || *rotated.RateLimitPerMinute != 7 || rotated.EffortMode != EffortModelWins {
			t.Errorf("rotated %+v", rotated)
		}
		wantUnknownKey(t, n, primary.Key)
		if _, err := n.Authenticate(t.Context(), rotated.Key); err != nil {
			t.Error(err)
		}

		// Revocation is final.
		for range 2 {
			if err := n.RevokeKey(t.Context(), "alice", key.ID); err != nil {
				t.Error(err)
			}
		}
		wantUnknownKey(t, n, key.Key)
		_, err = n.UpdateKey(t.Context(), "alice", key.ID, KeyChange{Label: new("x")})
		wantRefusal(t, err, http.StatusConflict, "revoked", "")

		// If the user has no primary key, RegenerateKey creates one.
		if err := n.RevokeKey(t.Context(), "alice", rotated.ID); err != nil {
			t.Fatal(err)
		}
		fresh, err := n.RegenerateKey(t.Context(), "alice")
		if err != nil || fresh.Label != "primary" || !fresh.IsPrimary {
			t.Errorf("fresh %+v, error %v", fresh, err)
		}
		keys, err := n.Keys(t.Context(), "alice")
		if err != nil {
			t.Fatal(err)
		}
		seen := make([]string, 0, len(keys))
		for _, k := range keys {
			seen = append(seen, fmt.Sprintf("%s %t %t", k.Label, k.IsPrimary, k.Revoked))
		}
		equal(t, seen, []string{"mine false true", "build false true", "mine false true", "primary true false"})
	})
}

func TestKeyRefusals(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		key := n.user(t, "alice")
		n.user(t, "bob")
		ctx := t.Context()
		long := strings.Repeat("x", 101)
		create := func(user, label string, limit *int64) error {
			_, err := n.CreateKey(ctx, user, KeyOptions{Label: label, Limits: Limits{RateLimitPerMinute: limit}})
			return err
		}
		update := func(user, id string, change KeyChange) error {
			_, err := n.UpdateKey(ctx, user, id, change)
			return err
		}
		_, rotate := n.RegenerateKey(ctx, "nobody")
		for name, test := range map[string]struct {
			err    error
			status int
			param  string
		}{
			"long label":           {create("alice", long, nil), 400, "label"},
			"control character":    {create("alice", "a\tb", nil), 400, "label"},
			"no requests":          {create("alice", "", new(int64(0))), 400, "rate_limit_per_minute"},
			"negative":             {create("alice", "", new(int64(-1))), 400, "rate_limit_per_minute"},
			"too many":             {create("alice", "", new(int64(1_000_000_001))), 400, "rate_limit_per_minute"},
			"nobody creates":       {create("nobody", "", nil), 404, ""},
			"nobody rotates":       {rotate, 404, ""},
			"change label":         {update("alice", key.ID, KeyChange{Label: &long}), 400, "label"},
			"change limit":         {update("alice", key.ID, KeyChange{Limits: func(l *Limits) { l.RateLimitPerMinute = new(int64(0)) }}), 400, "rate_limit_per_minute"},
			"mode":                 {update("alice", key.ID, KeyChange{EffortMode: new(EffortMode("most"))}), 400, "effort_mode"},
			"unknown key":          {update("alice", "gk_x", KeyChange{Label: new("x")}), 404, ""},
			"another's key":        {update("bob", key.ID, KeyChange{Label: new("x")}), 404, ""},
			"revoke unknown":       {n.RevokeKey(ctx, "alice", "gk_x"), 404, ""},
			"revoke another's key": {n.RevokeKey(ctx, "bob", key.ID), 404, ""},
		} {
			t.Run(name, func(t *testing.T) {
				code := map[int]string{400: "invalid_value", 404: "not_found"}[test.status]
				wantRefusal(t, test.err, test.status, code, test.param)
			})
		}
		// The errors for an unknown key and for another user's key are equal, and none of the calls has changed the
		// key.
		own, foreign := update("alice", "gk_x", KeyChange{}), update("bob", "gk_x", KeyChange{})
		if own.Error() != foreign.Error() {
			t.Errorf("%v and %v differ", own, foreign)
		}
		if id, err := n.Authenticate(ctx, key.Key); err != nil || id.Label != "primary" {
			t.Errorf("%+v, error %v", id, err)
		}
	})
}

func TestAuthenticateSpellings(t *testing.T) {
	t.Parallel()
	n := cluster{schematest.Place{Location: t.TempDir() + "/test.db"}}.start(t)
	key := n.user(t, "alice").Key
	for name, text := range map[string]string{
		"plain": key, "spaces": "  " + key + " \t", "many spaces": strings.Repeat(" ", 500) + key,
	} {
		if _, err := n.Authenticate(t.Context(), text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{
		"", "ak-", key[:len(key)-1], key + "x", strings.ToUpper(key), strings.TrimPrefix(key, KeyPrefix), "Bearer " + key,
		key + strings.Repeat(" ", 300) + "x", strings.Repeat("x", 1<<20), hashKey(key), "' OR 1=1 --", "\x00", "\xff",
	} {
		wantUnknownKey(t, n, text)
	}
}

// TestOnlyHashIsStored searches the whole database for secrets.
func TestOnlyHashIsStored(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		first := n.user(t, "alice")
		second, err := n.CreateKey(t.Context(), "alice", KeyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		rotated, err := n.RegenerateKey(t.Context(), "alice")
		if err != nil {
			t.Fatal(err)
		}
		secrets := []string{
			first.Key, second.Key, rotated.Key, "sk-provider-secret-0123456789-abcdefghij-klmno", "sk-custom-secret-0123456789-abcdefghij-klmno",
		}
		n.providerKey(t, "alice", "alpha", secrets[3])
		if _, err := n.AddModel(t.Context(), "alice", CustomModel{Entry: "local/x", BaseURL: "http://h/v1", Model: "x", Tier: 1, APIKey: secrets[4]}); err != nil {
			t.Fatal(err)
		}
		dump := n.dump(t)
		for _, s := range secrets {
			for i := 0; i+9 <= len(s); i++ { // a mask shows fewer than nine characters in a row
				if part := s[i : i+9]; strings.Contains(dump, part) {
					t.Fatalf("%q of %q is in the database", part, s)
				}
			}
		}
		for _, key := range secrets[:3] {
			if !strings.Contains(dump, hashKey(key)) {
				t.Error("a hash is not in the database: the test looks at the wrong place")
			}
		}
	})
}

func TestMask(t *testing.T) {
	t.Parallel()
	for n := range 200 {
		secret := strings.Repeat("s", n)
		if shown := strings.Count(mask(secret), "s"); 4*shown > n {
			t.Errorf("%d of %d characters are shown", shown, n)
		}
	}
	for secret, want := range map[string]string{
		"": "…", "short": "…", "0123456789abcdef": "01…ef", KeyPrefix + strings.Repeat("x", 36) + "1234": "ak-xxx…1234",
	} {
		if got := mask(secret); got != want {
			t.Errorf("%s: %s, want %s", secret, got, want)
		}
	}
}

func TestRandom(t *testing.T) {
	t.Parallel()
	seen := make(map[rune]int)
	const n = 62_000
	text := random(n)
	if len(text) != n {
		t.Fatalf("%d characters", len(text))
	}
	for _, r := range text {
		seen[r]++
	}
	for _, r := range base62 { // 1000 expected, deviation 31
		if seen[r] < 800 || seen[r] > 1200 {
			t.Errorf("%c comes %d times", r, seen[r])
		}
	}
	if len(seen) != 62 {
		t.Errorf("%d different characters", len(seen))
	}
}

func TestCheckTextBounds(t *testing.T) {
	t.Parallel()
	for text, fine := range map[string]bool{"": false, "a": true, "éé": true, "ééé": false, "a\n": false, "\xff": false, "\x00": false} {
		if err := checkText("x", text, 1, 2); (err == nil) != fine {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

func TestLastUsed(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		key := n.user(t, "alice")
		idle, err := n.CreateKey(t.Context(), "alice", KeyOptions{Label: "idle"})
		if err != nil {
			t.Fatal(err)
		}
		log := spending.NewLog(n.ledger, n.KeyUses(), n.logger).Start()
		used := func(id string) *time.Time {
			if err := log.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			keys, err := n.Keys(t.Context(), "alice")
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range keys {
				if k.ID == id {
					return k.LastUsedAt
				}
			}
			t.Fatal("the key is gone")
			return nil
		}
		if lastUsed := used(key.ID); lastUsed != nil {
			t.Errorf("used at %v before it was", lastUsed)
		}
		for _, minute := range []time.Duration{0, time.Minute, 3 * time.Minute} {
			n.clock.Offset.Store(int64(minute))
			for range 3 {
				if _, err := n.Authenticate(t.Context(), key.Key); err != nil {
					t.Fatal(err)
				}
			}
			if lastUsed := used(key.ID); lastUsed == nil || !lastUsed.Equal(start.Add(minute)) {
				t.Errorf("used at %v, want %v", lastUsed, start.Add(minute))
			}
		}
		// A node whose clock is behind does not set the time of last use back.
		n.used.GiveBack(map[string]int64{key.ID: start.Unix() / 60})
		if lastUsed := used(key.ID); !lastUsed.Equal(start.Add(3 * time.Minute)) {
			t.Errorf("turned back to %v", lastUsed)
		}
		if lastUsed := used(idle.ID); lastUsed != nil {
			t.Errorf("the idle key was used at %v", lastUsed)
		}
		if err := log.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestUsedKeys(t *testing.T) {
	t.Parallel()
	var u usedKeys
	now := start
	u.mark("a", now)
	u.mark("a", now.Add(10*time.Second))
	if got := u.take(now); len(got) != 1 || got["a"] != start.Unix()/60 {
		t.Errorf("took %v", got)
	}
	u.mark("a", now.Add(20*time.Second)) // the same minute, which was taken already
	if got := u.take(now); len(got) != 0 {
		t.Errorf("took %v again", got)
	}
	now = now.Add(time.Minute)
	u.mark("b", now)
	if got := u.take(now); len(got) != 1 || len(u.minutes) != 1 {
		t.Errorf("took %v, remembers %v: the past is to be forgotten", got, u.minutes)
	}
	u.mark("b", now.Add(time.Minute))
	u.giveBack(map[string]int64{"a": 5, "b": 7})
	if got := u.take(now); got["a"] != 5 || got["b"] != start.Unix()/60+2 {
		t.Errorf("took %v", got)
	}
}

// TestKeysAreBounded checks that a user can have no more keys than are listed, because a key that is not listed cannot
// be revoked.
func TestKeysAreBounded(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		first := n.user(t, "alice")
		fill := func(count int, revoked any) {
			t.Helper()
			for i := range count {
				id := fmt.Sprint("gk_", revoked != nil, i)
				n.sql(t, `INSERT INTO gateway_keys (id, user_id, hash, masked, label, is_primary, effort_mode, created_at, revoked_at)
					VALUES (?, 'alice', ?, '', '', 0, 'override', ?, ?)`, id, id, schema.Micros(start)+int64(i), revoked)
			}
		}
		fill(maxRevoked+1, schema.Micros(start))
		fill(maxKeys-2, nil)
		last, err := n.CreateKey(t.Context(), "alice", KeyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = n.CreateKey(t.Context(), "alice", KeyOptions{})
		wantRefusal(t, err, http.StatusConflict, "too_many", "")
		if _, err := n.RegenerateKey(t.Context(), "alice"); err != nil { // the number of keys stays the same
			t.Error(err)
		}
		keys, err := n.Keys(t.Context(), "alice")
		if err != nil || len(keys) != maxKeys+maxRevoked {
			t.Fatalf("%d keys, error %v", len(keys), err)
		}
		revoked := 0
		for i, k := range keys {
			if k.Revoked {
				revoked++
			}
			if i > 0 && k.CreatedAt.Before(keys[i-1].CreatedAt) {
				t.Fatalf("key %d is older than the one before", i)
			}
		}
		if revoked != maxRevoked || keys[len(keys)-2].ID != last.ID || keys[0].ID == "gk_true0" || keys[0].ID == first.ID {
			t.Errorf("%d are revoked, the first is %s, the last but one %s", revoked, keys[0].ID, keys[len(keys)-2].ID)
		}
		if err := n.RevokeKey(t.Context(), "alice", last.ID); err != nil {
			t.Fatal(err)
		}
		if _, err = n.CreateKey(t.Context(), "alice", KeyOptions{}); err != nil {
			t.Error(err)
		}
	})
}
