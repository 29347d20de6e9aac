package counters

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

func TestRedisNodesShareOneBudget(t *testing.T) {
	t.Parallel()
	target := testenv.Redis(t).URL()
	nodes := make([]Store, 3)
	for i := range nodes {
		r, err := NewRedis(target, RedisOptions{Timeout: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		// One bucket for the whole test; the nodes' own clocks are never asked.
		r.clock = func() int64 { return 1_700_000_000_000_000 }
		nodes[i] = r
	}
	if got := admitted(t, nodes, 64, 40, 1000); got != 1000 {
		t.Errorf("three nodes admitted %d, want 1000", got)
	}
	var marks int
	for _, n := range nodes {
		fresh, err := n.SetNX(t.Context(), "nonce", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if fresh {
			marks++
		}
	}
	if marks != 1 {
		t.Errorf("%d nodes set one mark", marks)
	}
}

// command sends a command on a connection of the store's pool.
func command(t *testing.T, r *Redis, name string, args ...any) (reply any, err error) {
	t.Helper()
	c, err := r.pool.GetContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return redis.DoContext(c, t.Context(), name, args...)
}

func TestRedisServerTime(t *testing.T) {
	t.Parallel()
	r := redisStore(t, nil)
	const window = MaxWindow // a bucket ends during the test only once a month
	before := time.Now()
	res, err := r.Take(t.Context(), "key", 1, 10, window)
	if err != nil || !res.Allowed || res.Remaining != 9 {
		t.Fatalf("%+v, %v", res, err)
	}
	// The server runs on this machine, so both have the same clock.
	_, rest := bucketAt(before.UnixMicro(), window.Microseconds())
	if diff := time.Duration(rest)*time.Microsecond - res.Reset; diff < -time.Second || diff > time.Minute {
		t.Errorf("reset %s, off by %s", res.Reset, diff)
	}
}

func TestRedisKeysExpire(t *testing.T) {
	t.Parallel()
	r := redisStore(t, nil)
	if _, err := r.Take(t.Context(), "key", 1, 10, time.Minute); err != nil {
		t.Fatal(err)
	}
	name := r.windows + "key:60000000"
	ttl, err := redis.Int64(command(t, r, "PTTL", name))
	if err != nil || ttl <= 110_000 || ttl > 120_000 {
		t.Errorf("ttl %d ms, %v; want two windows", ttl, err)
	}
}

func TestRedisPasswordAndDatabase(t *testing.T) {
	t.Parallel()
	server := testenv.NewRedis(t)
	// Under -race on a busy machine, the default time limit may be too short.
	admin, err := NewRedis(server.URL(), RedisOptions{Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	const password = "p@ss/wörd"
	if _, err := command(t, admin, "CONFIG", "SET", "requirepass", password); err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	target.User = url.UserPassword("", password)
	target.Path = "/3"
	r, err := NewRedis(target.String(), RedisOptions{Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Take(t.Context(), "key", 1, 10, time.Minute); err != nil {
		t.Fatal(err)
	}
	info, err := redis.String(command(t, r, "INFO", "keyspace"))
	if err != nil || !strings.Contains(info, "db3:keys=1") {
		t.Errorf("keyspace %q, %v", info, err)
	}

	logger, logs := observe()
	target.User = url.UserPassword("", "wrong-secret")
	bad, err := NewRedis(target.String(), RedisOptions{Timeout: 10 * time.Second, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	defer bad.Close()
	_, err = bad.Take(t.Context(), "key", 1, 10, time.Minute)
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "WRONGPASS") {
		t.Errorf("wrong password: %v", err)
	}
	if text := fmt.Sprint(err, logs.All()); strings.Contains(text, "wrong-secret") {
		t.Errorf("the error or the log contains the password: %s", text)
	}
}

func TestRedisRecovers(t *testing.T) {
	t.Parallel()
	server := testenv.NewRedis(t)
	logger, logs := observe()
	r, err := NewRedis(server.URL(), RedisOptions{Logger: logger, Timeout: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	take := func() error {
		_, err := r.Take(context.Background(), "key", 1, 1<<40, time.Minute)
		return err
	}
	eventually(t, "the first take", func() bool { return take() == nil })
	for round := range 2 {
		server.Stop()
		var wg sync.WaitGroup
		for range 32 {
			wg.Go(func() {
				start := time.Now()
				if err := take(); !errors.Is(err, ErrUnavailable) {
					t.Errorf("stopped server: %v", err)
				}
				if d := time.Since(start); d > 3*time.Second {
					t.Errorf("a take lasted %s", d)
				}
			})
		}
		wg.Wait()
		server.Start()
		eventually(t, "recovery", func() bool { return take() == nil })
		lost := logs.FilterMessage("counters are unreachable").Len()
		recoveries := logs.FilterMessage("counters are reachable again").Len()
		if lost != round+1 || recoveries != round+1 {
			t.Errorf("after round %d: lost %d times, back %d times in the log", round, lost, recoveries)
		}
	}
}

// TestRedisIdleConnectionsAreReplaced checks that connections which a restart of the server has closed while nobody
// used them fail at most one operation, however many there are.
func TestRedisIdleConnectionsAreReplaced(t *testing.T) {
	t.Parallel()
	server := testenv.NewRedis(t)
	r, err := NewRedis(server.URL(), RedisOptions{Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	idle := make([]redis.Conn, 16)
	for i := range idle {
		if idle[i], err = r.pool.GetContext(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range idle {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n := r.pool.IdleCount(); n != len(idle) {
		t.Fatalf("%d idle connections, want %d", n, len(idle))
	}
	server.Stop()
	server.Start()
	failed := 0
	for range 2 * len(idle) {
		if _, err := r.Take(t.Context(), "key", 1, 1<<40, time.Minute); err != nil {
			failed++
		}
	}
	if failed > 1 {
		t.Errorf("%d operations failed after a restart, want at most one", failed)
	}
}

func TestRedisStartsLater(t *testing.T) {
	t.Parallel()
	server := testenv.NewRedis(t)
	target := server.URL()
	server.Stop()
	r, err := NewRedis(target, RedisOptions{Timeout: 2 * time.Second})
	if err != nil {
		t.Fatalf("construction needs the server: %v", err)
	}
	defer r.Close()
	if _, err := r.Take(t.Context(), "key", 1, 1, time.Minute); !errors.Is(err, ErrUnavailable) {
		t.Errorf("no server: %v", err)
	}
	server.Start()
	eventually(t, "the first connection", func() bool {
		_, err := r.Take(t.Context(), "key", 1, 1, time.Minute)
		return err == nil
	})
}

// TestRedisSilentServer checks that calls time out at a server that accepts connections and never answers.
func TestRedisSilentServer(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(io.Discard, conn) }()
		}
	}()
	const limit = 300 * time.Millisecond
	r, err := NewRedis("redis://"+l.Addr().String(), RedisOptions{Timeout: limit})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	start := time.Now()
	var wg sync.WaitGroup
	for range 16 * redisConnections {
		wg.Go(func() {
			if _, err := r.Take(context.Background(), "key", 1, 1, time.Minute); !errors.Is(err, ErrUnavailable) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if d := time.Since(start); d > limit+4*time.Second {
		t.Errorf("%d takes lasted %s", 16*redisConnections, d)
	}
	// Now that the server is known to be down, calls do not wait.
	r.health.down.Store(true)
	r.health.next.Store(time.Now().Add(probeEvery).UnixNano())
	if _, err := r.Take(context.Background(), "key", 1, 1, time.Minute); !errors.Is(err, errDown) {
		t.Errorf("want %v, got %v", errDown, err)
	}
}

func TestRedisCallersOwnLimits(t *testing.T) {
	t.Parallel()
	r := redisStore(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Take(ctx, "key", 1, 1, time.Minute); !errors.Is(err, ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	ctx, cancel = context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if _, err := r.Take(ctx, "key", 1, 1, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("late: %v", err)
	}
	if r.health.down.Load() {
		t.Error("a caller's own limit counts against the server")
	}
	if res, err := r.Take(t.Context(), "key", 1, 1, time.Minute); err != nil || !res.Allowed {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestRedisUnexpectedValues(t *testing.T) {
	t.Parallel()
	// The test starts a separate server, since SCRIPT FLUSH would disturb other tests.
	r, err := NewRedis(testenv.NewRedis(t).URL(), RedisOptions{Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	run := func(name string, args ...any) {
		if _, err := command(t, r, name, args...); err != nil {
			t.Fatal(err)
		}
	}
	run("SET", r.windows+"text:60000000", "not a window")
	if res, err := r.Take(t.Context(), "text", 1, 1, time.Minute); err != nil || !res.Allowed {
		t.Errorf("foreign text: %+v, %v", res, err)
	}
	run("LPUSH", r.windows+"list:60000000", "x")
	if _, err := r.Take(t.Context(), "list", 1, 1, time.Minute); !errors.Is(err, ErrUnavailable) {
		t.Errorf("foreign type: %v", err)
	}
	if r.health.down.Load() {
		t.Error("a single bad key counts against the server")
	}
	run("SCRIPT", "FLUSH")
	if _, err := r.Take(t.Context(), "key", 1, 1, time.Minute); err != nil {
		t.Errorf("after the scripts were flushed: %v", err)
	}
}

func TestRedisChecksCertificates(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(nil)
	server.Config.ErrorLog = zap.NewStdLog(zap.NewNop())
	server.StartTLS()
	defer server.Close()
	r, err := NewRedis("rediss://"+server.Listener.Addr().String(), RedisOptions{Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Take(t.Context(), "key", 1, 1, time.Minute); err == nil || !strings.Contains(err.Error(), "x509") {
		t.Errorf("an untrusted certificate is accepted: %v", err)
	}
}

func TestParseRedisURL(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]redisTarget{
		"redis://localhost":                  {address: "localhost:6379", host: "localhost"},
		"redis://h:1/":                       {address: "h:1", host: "h"},
		"valkey://h/15":                      {address: "h:6379", host: "h", db: 15},
		"rediss://u:p%40%2F@h:1/2":           {address: "h:1", host: "h", secure: true, username: "u", password: "p@/", db: 2},
		"redis://:secret@[2001:db8::1]:6380": {address: "[2001:db8::1]:6380", host: "2001:db8::1", password: "secret"},
	} {
		if got, err := parseRedisURL(raw); err != nil || got != want {
			t.Errorf("%s: %+v, %v", raw, got, err)
		}
	}
	for raw, want := range map[string]string{
		"":                                 "scheme",
		"http://:secret@h":                 "scheme",
		"localhost:6379":                   "scheme",
		"redis://":                         "host",
		"redis:secret":                     "host",
		"redis://:sec/ret@h":               "not a valid URL",
		"redis://:secret@h\x7f":            "not a valid URL",
		"redis://:secret@h/secret":         "database",
		"redis://:secret@h/-1":             "database",
		"redis://:secret@h/1/2":            "database",
		"rediss://:secret@h?skip_verify=1": "parameters",
	} {
		err := CheckRedisURL(raw)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error about %s", raw, err, want)
		} else if strings.Contains(err.Error(), "sec") {
			t.Errorf("%q: the error contains the password: %v", raw, err)
		}
		if _, clientErr := NewRedis(raw, RedisOptions{}); clientErr == nil || clientErr.Error() != err.Error() {
			t.Errorf("%q: NewRedis: %v", raw, clientErr)
		}
	}
}

func TestHealthAdmitsOneProbe(t *testing.T) {
	t.Parallel()
	logger, logs := observe()
	h := health{logger: logger}
	now := time.Now()
	if !h.admit(now) {
		t.Fatal("closed from the start")
	}
	h.failed(io.EOF, now)
	if !h.admit(now) {
		t.Fatal("a single failure closes")
	}
	h.failed(io.EOF, now)
	for i, tt := range []struct {
		at   time.Duration
		want bool
	}{
		{0, false},
		{probeEvery - 1, false},
		{probeEvery, true},
		{probeEvery, false},
		{2 * probeEvery, true},
		{-time.Hour, true}, // the clock was set back
		{-time.Hour + 1, false},
	} {
		if got := h.admit(now.Add(tt.at)); got != tt.want {
			t.Errorf("step %d: admitted %v, want %v", i, got, tt.want)
		}
	}
	h.up()
	h.up()
	if !h.admit(now) || logs.Len() != 2 {
		t.Errorf("after recovery: %d log lines, want 2", logs.Len())
	}
}

func BenchmarkRedisTake(b *testing.B) {
	r := redisStore(b, nil)
	b.Run("serial", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := r.Take(b.Context(), "key", 1, 1<<40, time.Hour); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := r.Take(context.Background(), "key", 1, 1<<40, time.Hour); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}

func observe() (*zap.Logger, *observer.ObservedLogs) {
	core, logs := observer.New(zapcore.DebugLevel)
	return zap.New(core), logs
}

func eventually(t *testing.T, name string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", name)
		}
	}
}
