package testenv

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// childVar makes the test binary play the process that is killed in
// TestServersEndWithTheProcess.
const childVar = "TOLLGATE_TESTENV_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVar) != "" {
		child()
		return
	}
	os.Exit(m.Run())
}

// child starts both servers, prints where they are, and hangs.
func child() {
	p, err := startPostgres(false)
	if err != nil {
		panic(err)
	}
	r, err := startRedis()
	if err != nil {
		panic(err)
	}
	fmt.Println(p.address(), p.dir, r.address(), r.dir)
	select {}
}

func execute(t *testing.T, dsn, statement string) error {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.Background()) }()
	_, err = conn.Exec(t.Context(), statement)
	return err
}

func TestPostgresGivesFreshDatabases(t *testing.T) {
	t.Parallel()
	a, b := Postgres(t), Postgres(t)
	if a.DSN() == b.DSN() {
		t.Fatalf("both are %s", a.DSN())
	}
	for _, p := range []*PostgresServer{a, b} {
		if err := execute(t, p.DSN(), "CREATE TABLE t (id int)"); err != nil {
			t.Fatal(err)
		}
	}
	if err := execute(t, a.DSN(), "CREATE TABLE t (id int)"); err == nil {
		t.Fatal("the table could be made twice")
	}
}

func TestPostgresKeepsPortAndDataOverStop(t *testing.T) {
	t.Parallel()
	p := NewPostgres(t)
	dsn := p.DSN()
	if err := execute(t, dsn, "CREATE TABLE t (id int)"); err != nil {
		t.Fatal(err)
	}
	p.Stop()
	if err := execute(t, dsn, "SELECT 1"); err == nil {
		t.Fatal("a stopped server answers")
	}
	p.Start()
	if p.DSN() != dsn {
		t.Fatalf("DSN is %s after a restart, was %s", p.DSN(), dsn)
	}
	if err := execute(t, dsn, "SELECT id FROM t"); err != nil {
		t.Fatal(err)
	}
}

func redisAddress(t *testing.T, r *RedisServer) string {
	t.Helper()
	u, err := url.Parse(r.URL())
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

func TestRedis(t *testing.T) {
	t.Parallel()
	a, b := Redis(t), Redis(t)
	if a.URL() == b.URL() || redisAddress(t, a) != redisAddress(t, b) {
		t.Fatalf("want two databases of one server, got %s and %s", a.URL(), b.URL())
	}
	r := NewRedis(t)
	address := redisAddress(t, r)
	if address == redisAddress(t, a) {
		t.Fatalf("the private server is the shared one, %s", address)
	}
	if err := pingRedis(address); err != nil {
		t.Fatal(err)
	}
	r.Stop()
	if err := pingRedis(address); err == nil {
		t.Fatal("a stopped server answers")
	}
	r.Start()
	if got := redisAddress(t, r); got != address {
		t.Fatalf("address is %s after a restart, was %s", got, address)
	}
	if err := pingRedis(address); err != nil {
		t.Fatal(err)
	}
}

func TestServersEndWithTheProcess(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if killed := cmd.Process.Kill(); killed != nil {
		t.Fatal(killed)
	}
	_ = cmd.Wait()
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(line)
	if len(fields) != 4 {
		t.Fatalf("the child said %q", line)
	}
	deadline := time.Now().Add(2 * time.Minute)
	for i := 0; i < len(fields); i += 2 {
		for !gone(t.Context(), fields[i], fields[i+1]) {
			if time.Now().After(deadline) {
				t.Fatalf("%s or %s is still there", fields[i], fields[i+1])
			}
			time.Sleep(pollInterval)
		}
	}
}

// gone reports whether nobody listens on the address and the folder is removed.
func gone(ctx context.Context, address, dir string) bool {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err == nil {
		_ = conn.Close()
		return false
	}
	_, err = os.Stat(dir)
	return os.IsNotExist(err)
}
