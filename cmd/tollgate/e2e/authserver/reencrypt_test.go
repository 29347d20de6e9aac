package authserver

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/authserver/encryption"
	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestReencryptKilled moves data from one master key to another while the server runs, and kills the command and the
// server at several moments. All rows stay readable, rows that were reported as done stay done, another run continues,
// and in the end the old key can be removed.
func TestReencryptKilled(t *testing.T) {
	t.Parallel()
	e2e.OnBoth(t, func(t *testing.T, d e2e.Tables) {
		const rows, writers = 6000, 5 // each writer changes one row meanwhile
		older, newer := strings.Repeat("0a", 32), strings.Repeat("0b", 32)
		n, base, admin := e2e.NewAuthserver(t, `
server: {address: '127.0.0.1:PORT', issuer: 'http://localhost:PORT'}
admin: {address: '127.0.0.1:ADMIN'}
session: {secret: a secret that outlives the process}
rate_limit: {enabled: false}
signing: {key_store: postgres_key}
data_encryption: {driver: aes_master, aes_master: {key_env: OLD}}
resources:
  - {slug: notes, uri: '`+notes+`', display_name: Notes, scopes: [{name: 'notes:read'}]}
`+d.Storage+"\n", "OLD="+older, "NEW="+newer)
		e2e.AnswersWith(t, base+"/ready", http.StatusOK)
		robot := create(t, admin, "Robot", nil)
		kid := func() string {
			t.Helper()
			a := e2e.Get(t, e2e.Client, base+"/.well-known/jwks.json", "")
			var set struct{ Keys []struct{ Kid string } }
			if err := json.Unmarshal([]byte(a.Body), &set); err != nil || len(set.Keys) != 1 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			return set.Keys[0].Kid
		}
		signs := kid()
		var provider struct{ ID string }
		administer(t, admin, http.MethodPost, "/admin/broker-providers", `{"slug":"mail","protocol":"api_key","config_data":{"header_name":"X-Key"}}`, &provider)
		db := d.Open(t, n)
		seal(t, db, older, provider.ID, rows)

		rekey := func(oldText, newText string) {
			t.Helper()
			text, err := os.ReadFile(n.Path("config.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			n.Stop()
			n.WriteKeys(strings.Replace(string(text), oldText, newText, 1))
			n.Start()
			e2e.AnswersWith(t, base+"/ready", http.StatusOK)
		}
		rekey("key_env: OLD", "key_env: NEW, old_key_env: OLD")
		bothKeys, fresh := masterKey(t, newer, older), masterKey(t, newer, "")

		// Meanwhile tokens are issued, people change their keys, and all rows are read.
		var meanwhile sync.WaitGroup
		var finished, down atomic.Bool
		var runs sync.RWMutex // held while the server is stopped
		stopped := false
		next := func() bool {
			runs.RLock()
			defer runs.RUnlock()
			return !finished.Load()
		}
		var served, read, written atomic.Int64
		meanwhile.Go(func() {
			for next() {
				if a := robot.machine(base); a.Status == http.StatusOK {
					served.Add(1)
				} else if !down.Load() {
					t.Errorf("a token: %d %s %v", a.Status, a.Body, a.Err)
				}
			}
		})
		newest := make([]string, writers) // the newest key of each writer that was acknowledged
		meanwhile.Go(func() {
			for i := 0; next(); i++ {
				w, key := i%writers, fmt.Sprintf("key-%d-%d", i%writers, i)
				a := askAdmin(t, http.MethodPut, fmt.Sprintf("%s/admin/users/user-%06d/connections/mail", admin, w+1), `{"api_key":"`+key+`"}`)
				switch {
				case a.Status == http.StatusNoContent:
					newest[w] = key
					written.Add(1)
				case !down.Load():
					t.Errorf("a key: %d %s %v", a.Status, a.Body, a.Err)
				default:
					newest[w] = "" // the old or the new key may be stored
				}
			}
		})
		meanwhile.Go(func() {
			for !finished.Load() {
				if good, _ := openAll(t, db, bothKeys, provider.ID, writers); good != rows {
					t.Errorf("%d of %d rows can be read", good, rows)
					return
				}
				read.Add(1)
			}
		})
		defer func() { // for the case that the test ends early
			down.Store(true)
			if finished.Store(true); stopped {
				runs.Unlock()
			}
			meanwhile.Wait()
		}()

		current := func() int {
			t.Helper()
			_, current := openAll(t, db, fresh, provider.ID, writers)
			return current
		}
		// The administration re-encrypts the rows. Its server is killed when some rows are done and a locked row delays
		// the rest.
		release := hold(t, db, fmt.Sprintf("user-%06d", rows/2))
		answered := make(chan *e2e.Answer, 1)
		go func() {
			answered <- askAdmin(t, http.MethodPost, admin+"/admin/encryption/re-encrypt", "")
		}()
		e2e.Eventually(t, e2e.WaitLimit, "some rows are re-encrypted", func() error {
			if current() <= writers {
				return errors.New("none is")
			}
			return nil
		})
		down.Store(true)
		runs.Lock()
		stopped = true
		n.Kill()
		a := <-answered
		done := current()
		t.Logf("killed the server when %d of %d rows were done; it answered %d", done, rows, a.Status)
		if a.Err == nil || done >= rows {
			t.Error("the run ended before the kill, so the test shows nothing")
		}
		release()
		n.Start()
		e2e.AnswersWith(t, base+"/ready", http.StatusOK)
		down.Store(false)
		stopped = false
		runs.Unlock()

		// The command runs beside the server and is killed after the given numbers of reported batches.
		args := []string{"authserver", "re-encrypt", "--config", "config.yaml", "--adapter", "authserver", "--json"}
		for _, lines := range []int{0, 1, 20, 40} {
			batches := killedAfter(n, lines, args...)
			if done = current(); batches != lines || done < lines*100-writers {
				t.Errorf("killed after %d reported batches, want %d: %d rows are done", batches, lines, done)
			}
			t.Logf("killed the command after %d batches: %d of %d rows are done", batches, done, rows)
		}
		var sum encryption.Resealed
		finish := func() {
			t.Helper()
			if err := json.Unmarshal([]byte(n.Tool(args...)), &sum); err != nil {
				t.Fatal(err)
			}
		}
		finish()
		if sum.Scanned != rows+1 || sum.Failed != 0 || current() != rows { // the connections and the signing key
			t.Errorf("%+v, %d of %d rows are done", sum, current(), rows)
		}
		before := sum.Rewritten
		if finish(); sum.Rewritten != 0 {
			t.Errorf("again: %+v after %d", sum, before)
		}
		finished.Store(true)
		meanwhile.Wait()
		t.Logf("meanwhile: %d tokens, %d keys, all rows read %d times", served.Load(), written.Load(), read.Load())
		if served.Load() == 0 || read.Load() == 0 || written.Load() == 0 {
			t.Error("nothing happened meanwhile")
		}

		// The old key is removed.
		rekey("key_env: NEW, old_key_env: OLD", "key_env: NEW")
		if good, current := openAll(t, db, fresh, provider.ID, writers); good != rows || current != rows {
			t.Errorf("with the new key alone %d of %d rows can be read", good, rows)
		}
		for w, key := range newest {
			if got := credential(t, db, fresh, w+1, provider.ID); key != "" && got != `{"access_token":"`+key+`"}` {
				t.Errorf("the key of writer %d is %s, not %s", w, got, key)
			}
		}
		if robot.grants(robot.machine(base)); kid() != signs {
			t.Error("the signing key has changed")
		}
		if a := e2e.Get(t, e2e.Client, admin+"/admin/notices", ""); a.Status != http.StatusOK || strings.Contains(a.Body, "cannot be decrypted") {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		n.Stop()
	})
}

// askAdmin sends a request to the administration of a server that may be killed meanwhile.
func askAdmin(t *testing.T, method, target, body string) *e2e.Answer {
	request, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	if err != nil {
		return &e2e.Answer{Err: err}
	}
	request.Header.Set("Content-Type", "application/json")
	return e2e.Read(e2e.Client.Do(request)) //nolint:bodyclose // Read does
}

func masterKey(t *testing.T, current, old string) *encryption.Master {
	t.Helper()
	m, err := encryption.NewMaster(current, old)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// bound returns the associated data with which the credential of a connection is sealed.
func bound(user, provider string) []byte {
	return encryption.Place("authserver_connections", user+" "+provider, "credential")
}

// seal stores users with a connection each, sealed with a master key, as the server does.
func seal(t *testing.T, db *store.DB, key, provider string, rows int) {
	t.Helper()
	m := masterKey(t, key, "")
	if err := db.Write(t.Context(), func(c store.Conn) error {
		for i := 1; i <= rows; i++ {
			user := fmt.Sprintf("user-%06d", i)
			sealed, err := m.Seal(t.Context(), []byte(`{"access_token":"key of `+user+`"}`), bound(user, provider))
			if err == nil {
				_, err = c.Exec("INSERT INTO authserver_users (id, email, email_key, created_at, updated_at) VALUES (?, ?, ?, 0, 0)", user, user+"@example.com", user+"@example.com")
			}
			if err == nil {
				_, err = c.Exec("INSERT INTO authserver_connections (id, user_id, provider_id, credential, created_at, updated_at) VALUES (?, ?, ?, ?, 0, 0)", "c"+user, user, provider, sealed)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// openAll returns how many rows open to their expected content, and how many are sealed with the newest key of m. The
// first rows, as many as changing says, may have any content.
func openAll(t *testing.T, db *store.DB, m *encryption.Master, provider string, changing int) (good, current int) {
	t.Helper()
	type row struct{ user, sealed string }
	var rows []row
	if err := db.Read(t.Context(), func(c store.Conn) (err error) {
		rows, err = store.List(c, func(r store.Row) (one row, err error) { return one, r.Scan(&one.user, &one.sealed) }, "SELECT user_id, credential FROM authserver_connections ORDER BY user_id")
		return err
	}); err != nil {
		t.Error(err)
	}
	for i, r := range rows {
		text, err := m.Open(t.Context(), r.sealed, bound(r.user, provider))
		if err == nil && (i < changing || string(text) == `{"access_token":"key of `+r.user+`"}`) {
			good++
		}
		if m.Current(r.sealed) {
			current++
		}
	}
	return good, current
}

// credential returns the credential in the connection of a user.
func credential(t *testing.T, db *store.DB, m *encryption.Master, user int, provider string) string {
	t.Helper()
	name, sealed := fmt.Sprintf("user-%06d", user), ""
	if err := db.Read(t.Context(), func(c store.Conn) error {
		return c.Row("SELECT credential FROM authserver_connections WHERE user_id = ?", name).Scan(&sealed)
	}); err != nil {
		t.Fatal(err)
	}
	text, err := m.Open(t.Context(), sealed, bound(name, provider))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// killedAfter runs a command, kills it after it has reported its progress the given number of times, and returns the
// number of reports until then.
func killedAfter(n *e2e.Node, lines int, args ...string) (count int) {
	n.T.Helper()
	cmd := exec.CommandContext(n.T.Context(), e2e.Binary, args...)
	cmd.Dir, cmd.Env = n.Dir, n.Env
	notes, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		n.T.Fatal(err)
	}
	var all strings.Builder
	for scanner := bufio.NewScanner(notes); count < lines && scanner.Scan(); {
		fmt.Fprintln(&all, scanner.Text())
		if strings.Contains(scanner.Text(), "secrets checked") {
			count++
		}
	}
	_ = cmd.Process.Kill()
	err = cmd.Wait()
	if ended, ok := errors.AsType[*exec.ExitError](err); !ok || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		n.T.Errorf("the command was not killed: %v\n%s", err, all.String())
	}
	return count
}
