package keychain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema/schematest"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// TestRevokeWhileAuthenticating uses a key in many goroutines while it is revoked. No request may be accepted once
// RevokeKey has returned.
func TestRevokeWhileAuthenticating(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		n.user(t, "alice")
		for round := range 20 {
			key, err := n.CreateKey(t.Context(), "alice", KeyOptions{})
			if err != nil {
				t.Fatal(err)
			}
			stop := make(chan struct{})
			var all sync.WaitGroup
			for range 16 {
				all.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
							_, _ = n.Authenticate(t.Context(), key.Key)
							n.keys.Del(hashKey(key.Key)) // so that the database is read too
						}
					}
				})
			}
			time.Sleep(time.Duration(round%4) * time.Millisecond)
			if err := n.RevokeKey(t.Context(), "alice", key.ID); err != nil {
				t.Fatal(err)
			}
			for range 50 {
				if id, err := n.Authenticate(t.Context(), key.Key); err == nil {
					t.Fatalf("round %d: %+v after it was revoked", round, id)
				}
			}
			close(stop)
			all.Wait()
		}
	})
}

// TestChangeDuringRead checks a database read that begins before a change and returns after it. Its old result must
// reach neither the cache nor the requests that wait for the same read.
func TestChangeDuringRead(t *testing.T) {
	t.Parallel()
	n := cluster{schematest.Place{Location: t.TempDir() + "/test.db"}}.start(t)
	key := n.user(t, "alice")
	n.providerKey(t, "alice", "alpha", secret)
	hash := hashKey(key.Key)
	stale, leave := n.account(t, "alice"), make(chan struct{})
	var all sync.WaitGroup
	for name, answer := range map[string]any{"key/" + hash: &cachedKey{&Identity{KeyID: key.ID}}, "account/alice": stale} {
		entered := make(chan struct{})
		all.Go(func() {
			_, _ = n.reads.Do(t.Context(), name, func(context.Context) (any, error) {
				close(entered)
				<-leave
				return answer, nil
			})
		})
		<-entered
	}
	if err := n.RevokeKey(t.Context(), "alice", key.ID); err != nil {
		t.Fatal(err)
	}
	n.providerKey(t, "alice", "beta", secret)
	timer := time.AfterFunc(10*time.Second, func() { close(leave) }) // requests that joined the old read end
	wantUnknownKey(t, n, key.Key)
	if got := len(n.account(t, "alice").keys); got != 2 {
		t.Errorf("the account has %d keys", got)
	}
	if timer.Stop() {
		close(leave)
	}
	all.Wait()
	wantUnknownKey(t, n, key.Key)
}

// TestForgetPendingCacheEntry checks that an entry which the cache has accepted but not yet stored does not appear
// after it was removed.
func TestForgetPendingCacheEntry(t *testing.T) {
	t.Parallel()
	n := cluster{schematest.Place{Location: t.TempDir() + "/test.db"}}.start(t)
	for i := range 5000 {
		name := fmt.Sprint(i)
		n.keys.SetWithTTL(name, &cachedKey{}, 1, CacheTTL)
		n.forgetKey(name)
		n.accounts.SetWithTTL(name, &Account{}, 1, CacheTTL)
		n.forgetAccount(name)
		for range 20 {
			if _, ok := n.keys.Get(name); ok {
				t.Fatal("the key is back")
			}
			if _, ok := n.accounts.Get(name); ok {
				t.Fatal("the account is back")
			}
		}
	}
}

// TestCacheCapacity checks that the caches hold thousands of entries.
func TestCacheCapacity(t *testing.T) {
	t.Parallel()
	n := cluster{schematest.Place{Location: t.TempDir() + "/test.db"}}.start(t)
	const many = 15_000
	for i := range many {
		n.keys.SetWithTTL(fmt.Sprint(i), &cachedKey{}, 1, time.Hour)
		n.accounts.SetWithTTL(fmt.Sprint(i), &Account{}, 1, time.Hour)
		if i%1000 == 0 {
			n.keys.Wait()
			n.accounts.Wait()
		}
	}
	n.keys.Wait()
	n.accounts.Wait()
	keys, accounts := 0, 0
	for i := range many {
		if _, ok := n.keys.Get(fmt.Sprint(i)); ok {
			keys++
		}
		if _, ok := n.accounts.Get(fmt.Sprint(i)); ok {
			accounts++
		}
	}
	if keys < many || accounts < many {
		t.Errorf("%d keys and %d accounts of %d are held", keys, accounts, many)
	}
}

// TestChangeOnAnotherNode changes data through one of two services on one database. On PostgreSQL the other service is
// notified. On SQLite, where the other process is a command, it sees the change once its cached value has expired.
func TestChangeOnAnotherNode(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		local, remote := p.start(t), p.start(t)
		key := local.user(t, "alice")
		if p.Dialect == store.Postgres {
			remote.waitForListener(t)
			remote.ttl = time.Hour // it sees only changes of which it is notified
		}
		for _, n := range []*node{local, remote} {
			if _, err := n.Authenticate(t.Context(), key.Key); err != nil {
				t.Fatal(err)
			}
			n.account(t, "alice")
			n.keys.Wait()
			n.accounts.Wait()
		}
		began := time.Now()
		if err := local.RevokeKey(t.Context(), "alice", key.ID); err != nil {
			t.Fatal(err)
		}
		local.providerKey(t, "alice", "alpha", secret)
		wantUnknownKey(t, local, key.Key)
		if len(local.account(t, "alice").keys) != 1 {
			t.Error("a change is not seen at once where it was made")
		}
		if p.Dialect == store.SQLite {
			if _, err := remote.Authenticate(t.Context(), key.Key); err != nil && time.Since(began) < CacheTTL {
				t.Errorf("the other node does not use its cache: %v", err)
			}
		}
		schematest.Eventually(t, "the other node sees both", func() bool {
			_, err := remote.Authenticate(t.Context(), key.Key)
			return err != nil && len(remote.account(t, "alice").keys) == 1
		})
	})
}

// TestFirstKeyOnAnotherNode checks that a node uses a user's first key at once, even if the node is not notified.
func TestFirstKeyOnAnotherNode(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		local, remote := p.start(t), p.start(t)
		remote.ttl = time.Hour // the node is not notified
		local.user(t, "alice")
		if a := remote.account(t, "alice"); len(a.keys) != 0 {
			t.Fatalf("%d keys", len(a.keys))
		}
		remote.accounts.Wait()
		local.providerKey(t, "alice", "alpha", secret)
		if a := remote.account(t, "alice"); len(a.keys) != 1 {
			t.Errorf("%d keys, want the new one", len(a.keys))
		}
	})
}

// TestDatabaseNotOpen checks that every method returns ErrUnavailable while the database is not open yet.
func TestDatabaseNotOpen(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n, ctx, cat := newNode(t, p.Open(t)), t.Context(), testCatalog(t)
		_, _, _, initUser := n.InitUser(ctx, "alice")
		_, users := n.Users(ctx, "", "", 1)
		_, create := n.CreateKey(ctx, "alice", KeyOptions{})
		_, keys := n.Keys(ctx, "alice")
		_, update := n.UpdateKey(ctx, "alice", "gk", KeyChange{})
		_, rotate := n.RegenerateKey(ctx, "alice")
		_, authenticate := n.Authenticate(ctx, "ak-x")
		_, addKey := n.AddProviderKey(ctx, "alice", "alpha", secret, "", anyProvider)
		_, listKeys := n.ProviderKeys(ctx, "alice")
		_, addModel := n.AddModel(ctx, "alice", CustomModel{Entry: "a/b", BaseURL: "http://h", Model: "b", Tier: 1})
		_, changeModel := n.ChangeModel(ctx, cat, "alice", "alpha/large", ModelChange{})
		_, models := n.Models(ctx, cat, "alice")
		_, account := n.Account(ctx, "alice")
		_, preferences := n.Preferences(ctx, "alice")
		_, discover := n.Discover(ctx, "alice", "local", nil, nil)
		_, recent := n.ledger.Recent(ctx, "alice", 0, 1)
		for name, err := range map[string]error{
			"InitUser": initUser, "Users": users, "CreateKey": create, "Keys": keys, "UpdateKey": update, "RegenerateKey": rotate,
			"RevokeKey": n.RevokeKey(ctx, "alice", "gk"), "Authenticate": authenticate, "AddProviderKey": addKey, "ProviderKeys": listKeys,
			"DeleteProviderKey": n.DeleteProviderKey(ctx, "alice", "pk"), "AddModel": addModel, "ChangeModel": changeModel,
			"RemoveModel": n.RemoveModel(ctx, "alice", "a/b"), "Models": models, "Account": account, "Preferences": preferences,
			"SetPreferences": n.SetPreferences(ctx, cat, "alice", Preferences{}), "Discover": discover,
			"SyncProviderKey": n.SyncProviderKey(ctx, "alice", "alpha", "", secret), "Recent": recent,
		} {
			t.Run(name, func(t *testing.T) { wantUnavailable(t, err) })
		}
	})
}

// TestNotices makes every kind of change on one node, and checks that the other node's caches follow.
func TestNotices(t *testing.T) {
	t.Parallel()
	p := cluster{schematest.Place{Dialect: store.Postgres, Location: testenv.Postgres(t).DSN()}}
	local, remote := p.start(t), p.start(t)
	first := local.user(t, "alice")
	cat := testCatalog(t)
	remote.waitForListener(t)
	remote.ttl = time.Hour // it sees only changes of which it is notified
	limit := int64(7)
	var key *NewKey
	var pk *ProviderKey
	model := CustomModel{Entry: "own/a", BaseURL: "http://model.test/v1", Model: "a", Tier: catalog.Low}
	enabled := false
	for _, change := range []struct {
		what string
		make func() error
		seen func() bool
	}{
		{"a key's options", func() error {
			_, err := local.UpdateKey(t.Context(), "alice", first.ID, KeyChange{Limits: func(l *Limits) { l.RateLimitPerMinute = &limit }})
			return err
		}, func() bool {
			id, err := remote.Authenticate(t.Context(), first.Key)
			return err == nil && id.RateLimitPerMinute != nil
		}},
		{"a key that was replaced", func() (err error) {
			key, err = local.RegenerateKey(t.Context(), "alice")
			return err
		}, func() bool { _, err := remote.Authenticate(t.Context(), first.Key); return err != nil }},
		{"a key that was revoked", func() error { return local.RevokeKey(t.Context(), "alice", key.ID) }, func() bool {
			if key == nil {
				return false
			}
			_, err := remote.Authenticate(t.Context(), key.Key)
			return err != nil
		}},
		{"a provider key", func() error { pk = local.providerKey(t, "alice", "alpha", secret); return nil }, func() bool {
			return len(remote.account(t, "alice").keys) == 1
		}},
		{"a provider key that was removed", func() error { return local.DeleteProviderKey(t.Context(), "alice", pk.ID) }, func() bool {
			return len(remote.account(t, "alice").keys) == 0
		}},
		{"a model", func() error { _, err := local.AddModel(t.Context(), "alice", model); return err }, func() bool {
			return len(remote.account(t, "alice").models) == 1
		}},
		{"a model that was switched off", func() error {
			_, err := local.ChangeModel(t.Context(), cat, "alice", "own/a", ModelChange{Enabled: &enabled})
			return err
		}, func() bool {
			models := remote.account(t, "alice").models
			return len(models) == 1 && !models[0].Enabled
		}},
		{"a model that was removed", func() error { return local.RemoveModel(t.Context(), "alice", "own/a") }, func() bool {
			return len(remote.account(t, "alice").models) == 0
		}},
		{"preferences", func() error {
			return local.SetPreferences(t.Context(), cat, "alice", Preferences{PreferredProviders: []string{"beta"}})
		}, func() bool { return len(remote.account(t, "alice").preferences.PreferredProviders) == 1 }},
	} {
		if change.seen() { // this call also fills the caches
			t.Fatalf("%s is there already", change.what)
		}
		remote.keys.Wait()
		remote.accounts.Wait()
		if err := change.make(); err != nil {
			t.Fatalf("%s: %v", change.what, err)
		}
		schematest.Eventually(t, change.what+" is seen", change.seen)
	}
}

// TestMissedNotices checks that a node empties its caches when it may have missed notifications.
func TestMissedNotices(t *testing.T) {
	t.Parallel()
	n := cluster{schematest.Place{Dialect: store.Postgres, Location: testenv.Postgres(t).DSN()}}.start(t)
	key := n.user(t, "alice")
	n.waitForListener(t)
	if _, err := n.Authenticate(t.Context(), key.Key); err != nil {
		t.Fatal(err)
	}
	n.account(t, "alice")
	n.keys.Wait()
	n.accounts.Wait()
	n.handleNotice("")
	if _, ok := n.keys.Get(hashKey(key.Key)); ok {
		t.Error("the key is still there")
	}
	if _, ok := n.accounts.Get("alice"); ok {
		t.Error("the account is still there")
	}
}

// BenchmarkRevocationElsewhere measures how long another node on PostgreSQL accepts a revoked key: with a notification,
// and without one, when its cached value has to expire. Run it with -benchtime 50x.
func BenchmarkRevocationElsewhere(b *testing.B) {
	for _, mode := range []string{"heard", "by age"} {
		b.Run(mode, func(b *testing.B) {
			p := cluster{schematest.Place{Dialect: store.Postgres, Location: testenv.Postgres(b).DSN()}}
			local, remote := p.start(b), p.start(b)
			local.user(b, "alice")
			remote.waitForListener(b)
			if mode == "by age" {
				remote.unsubscribe()
			}
			took := make([]time.Duration, 0, b.N)
			for range b.N {
				key, err := local.CreateKey(b.Context(), "alice", KeyOptions{})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := remote.Authenticate(b.Context(), key.Key); err != nil {
					b.Fatal(err)
				}
				remote.keys.Wait()
				if err := local.RevokeKey(b.Context(), "alice", key.ID); err != nil {
					b.Fatal(err)
				}
				revoked := time.Now()
				for err == nil {
					_, err = remote.Authenticate(b.Context(), key.Key)
					time.Sleep(100 * time.Microsecond)
				}
				took = append(took, time.Since(revoked))
			}
			slices.Sort(took)
			for name, index := range map[string]int{"p50-ms": len(took) / 2, "p99-ms": len(took) * 99 / 100} {
				b.ReportMetric(float64(took[index].Microseconds())/1000, name)
			}
		})
	}
}

// TestDatabaseGone stops the database server under a running service.
func TestDatabaseGone(t *testing.T) {
	t.Parallel()
	server := testenv.NewPostgres(t)
	n := cluster{schematest.Place{Dialect: store.Postgres, Location: server.DSN()}}.start(t)
	key := n.user(t, "alice")
	n.providerKey(t, "alice", "alpha", secret)
	if _, err := n.Authenticate(t.Context(), key.Key); err != nil {
		t.Fatal(err)
	}
	n.account(t, "alice")
	n.keys.Wait()
	n.accounts.Wait()
	began := time.Now()
	server.Stop()
	_, unknown := n.Authenticate(t.Context(), "ak-unknown")
	wantUnavailable(t, unknown)
	_, known := n.Authenticate(t.Context(), key.Key)
	account, err := n.Account(t.Context(), "alice")
	if time.Since(began) < CacheTTL && (known != nil || err != nil || len(account.keys) != 1) {
		t.Errorf("the cached values are not used: %v, %v", known, err)
	}
	wantUnavailable(t, n.RevokeKey(t.Context(), "alice", key.ID))
	schematest.Eventually(t, "the caches are stale", func() bool {
		_, err := n.Authenticate(t.Context(), key.Key)
		return err != nil
	})
	_, known = n.Authenticate(t.Context(), key.Key)
	wantUnavailable(t, known)

	server.Start()
	schematest.Eventually(t, "the database is back", func() bool {
		_, err := n.Authenticate(t.Context(), key.Key)
		return err == nil
	})
	wantUnknownKey(t, n, "ak-unknown")
}

// TestDatabaseHangs uses a database server that does not answer a query.
func TestDatabaseHangs(t *testing.T) {
	t.Parallel()
	p := cluster{schematest.Place{Dialect: store.Postgres, Location: testenv.Postgres(t).DSN()}}
	n, other := p.start(t), p.start(t)
	key := n.user(t, "alice")
	locked, leave := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		err := other.db.Write(context.Background(), func(c store.Conn) error {
			if _, err := c.Exec("LOCK TABLE gateway_keys, gateway_provider_keys IN ACCESS EXCLUSIVE MODE"); err != nil {
				return err
			}
			close(locked)
			<-leave
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-locked
	began := time.Now()
	for _, ask := range []func() error{
		func() error { _, err := n.Authenticate(t.Context(), key.Key); return err },
		func() error { _, err := n.Account(t.Context(), "alice"); return err },
	} {
		all.Go(func() { wantUnavailable(t, ask()) })
	}
	schematest.Eventually(t, "the reads are given up", func() bool { return time.Since(began) > store.ReadTimeout+time.Second })
	close(leave)
	all.Wait()
	if _, err := n.Authenticate(t.Context(), key.Key); err != nil {
		t.Error(err)
	}
}

// TestCancelOneOfJointReads cancels the request that began a shared read. That request returns at once, and the read
// continues for the others.
func TestCancelOneOfJointReads(t *testing.T) {
	t.Parallel()
	n := cluster{schematest.Place{Location: t.TempDir() + "/test.db"}}.start(t)
	key := n.user(t, "alice")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := n.Authenticate(ctx, key.Key); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	schematest.Eventually(t, "the read has kept what it found", func() bool {
		_, ok := n.keys.Get(hashKey(key.Key))
		return ok
	})
}

func BenchmarkAuthenticate(b *testing.B) {
	db, err := store.NewSQLite(store.SQLiteOptions{Path: b.TempDir() + "/test.db"}, zap.NewNop())
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if err := db.Register(schema.Gateway()); err != nil {
		b.Fatal(err)
	}
	testenv.Open(b, db)
	n := newNode(b, db)
	key := n.user(b, "alice").Key
	if _, err := n.Authenticate(b.Context(), key); err != nil {
		b.Fatal(err)
	}
	n.keys.Wait()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := n.Authenticate(b.Context(), key); err != nil {
			b.Fatal(err)
		}
	}
}
