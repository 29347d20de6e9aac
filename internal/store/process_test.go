package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
)

// The test binary plays other processes when these variables are set.
const (
	childVar    = "TOLLGATE_STORE_CHILD" // the task of the process
	dialectVar  = "TOLLGATE_STORE_DIALECT"
	locationVar = "TOLLGATE_STORE_LOCATION"
)

func runChild(ctx context.Context, p place, task string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"="+task, dialectVar+"="+p.dialect.String(), locationVar+"="+p.location)
	cmd.Stderr = os.Stderr
	return cmd
}

func child() error {
	p := place{dialect: SQLite, location: os.Getenv(locationVar)}
	if os.Getenv(dialectVar) == Postgres.String() {
		p.dialect = Postgres
	}
	db, err := p.open(zap.NewNop())
	if err != nil {
		return err
	}
	release, _, rolling := strings.Cut(os.Getenv(childVar), " from ")
	registered := testSchema()
	if rolling {
		db.SetRelease(release)
		registered = rollingSchema(release)
	}
	if err := db.Register(registered); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if os.Getenv(childVar) == "lock" {
		unlock, err := lockFile(ctx, p.location, lockPoll)
		if err == nil {
			unlock()
		}
		return err
	}
	db.Start(ctx)
	if err := db.WaitReady(ctx); err != nil {
		return err
	}
	switch task := os.Getenv(childVar); {
	case task == "migrate":
		return db.Close()
	case task == "write":
		return writeUntilKilled(0, func(id int) error { return writeItem(ctx, db, id) })
	case rolling:
		return serveRolling(ctx, db)
	default:
		return fmt.Errorf("unknown task %q", task)
	}
}

// writeUntilKilled writes numbers from first on and prints each number when it is acknowledged.
func writeUntilKilled(first int, write func(id int) error) error {
	const workers = 8
	failed := make(chan error, workers)
	var printing sync.Mutex
	for w := range workers {
		go func() {
			for id := first + w; ; id += workers {
				if err := write(id); err != nil {
					failed <- err
					return
				}
				printing.Lock()
				_, err := os.Stdout.WriteString(strconv.Itoa(id) + "\n")
				printing.Unlock()
				if err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	return <-failed
}

func TestAcknowledgedWritesSurviveKill(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		cmd := runChild(t.Context(), p, "write")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var acknowledged []int
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			id, err := strconv.Atoi(lines.Text())
			if err != nil {
				break // cut by the kill
			}
			acknowledged = append(acknowledged, id)
			if len(acknowledged) == 300 {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := cmd.Wait(); !errors.As(err, new(*exec.ExitError)) {
			t.Fatalf("the child ended with %v, it was to be killed", err)
		}
		if len(acknowledged) < 300 {
			t.Fatalf("only %d writes before the kill", len(acknowledged))
		}
		db := p.start(t)
		for _, id := range acknowledged {
			if !has(t, db, id) {
				t.Errorf("write %d was acknowledged and is lost", id)
			}
		}
		if err := writeItem(t.Context(), db, -1); err != nil {
			t.Errorf("writing after the kill: %v", err)
		}
	})
}
