package memory

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

func TestShare(t *testing.T) {
	t.Parallel()
	b := New(100)
	first, second := b.Share(""), b.Share("")
	if err := errors.Join(first.Grow(t.Context(), 40), first.Grow(t.Context(), 60), first.Grow(t.Context(), 10), second.Grow(t.Context(), 40)); err != nil {
		t.Fatal(err)
	}
	if b.Taken() != 100 {
		t.Errorf("%d are taken", b.Taken())
	}
	first.Free()
	first.Free()
	second.Free()
	if b.Taken() != 0 || b.Refused() != 0 {
		t.Errorf("%d are taken, %d were refused", b.Taken(), b.Refused())
	}
	var none *Budget
	free := none.Share("")
	if err := free.Grow(t.Context(), math.MaxInt64); err != nil {
		t.Error(err)
	}
	free.Free()
}

// TestOwners checks that an owner that takes much leaves half of the memory to the other owners. Small amounts do not
// count towards the owner.
func TestOwners(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := New(4 * MinBudget)
		held := make([]Share, 3)
		for i := range held {
			held[i] = b.Share("one")
		}
		if err := errors.Join(held[0].Grow(t.Context(), small), held[0].Grow(t.Context(), MinBudget), held[1].Grow(t.Context(), MinBudget), held[2].Grow(t.Context(), small)); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := held[2].Grow(t.Context(), small+1); !errors.Is(err, ErrFull) || time.Since(began) != Patience {
			t.Errorf("more than half of the memory: %v after %s", err, time.Since(began))
		}
		for _, owner := range []string{"two", ""} {
			share := b.Share(owner)
			if err := share.Grow(t.Context(), MinBudget); err != nil {
				t.Errorf("another owner, %q: %v", owner, err)
			}
			share.Free()
		}
		all, began := b.Share("three"), time.Now()
		if err := all.Grow(t.Context(), 2*MinBudget+1); !errors.Is(err, ErrFull) || !time.Now().Equal(began) {
			t.Errorf("an amount that never fits: %v after %s", err, time.Since(began))
		}
		late := b.Share("one")
		go func() {
			time.Sleep(Patience / 2)
			held[1].Free()
		}()
		if err := late.Grow(t.Context(), MinBudget); err != nil {
			t.Errorf("once there is room: %v", err)
		}
		synctest.Wait() // until held[1] has been freed
		late.Free()
		for i := range held {
			held[i].Free()
		}
		if b.Taken() != 0 || len(b.owned) != 0 {
			t.Errorf("%d are taken, owned: %v", b.Taken(), b.owned)
		}
		// A request that fails because others have taken the memory counts for no owner.
		other, none := b.Share(""), b.Share("one")
		if err := other.Grow(t.Context(), 4*MinBudget); err != nil {
			t.Fatal(err)
		}
		if err := none.Grow(t.Context(), MinBudget); !errors.Is(err, ErrFull) || len(b.owned) != 0 {
			t.Errorf("error %v, owned: %v", err, b.owned)
		}
		other.Free()
	})
}

// TestNoDeadlock checks that two shares that wait for each other do not wait forever: each gives up by its deadline.
func TestNoDeadlock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := New(100)
		var shares [2]Share
		for i := range shares {
			shares[i] = b.Share("")
			if err := shares[i].Grow(t.Context(), 50); err != nil {
				t.Fatal(err)
			}
		}
		var all sync.WaitGroup
		began := time.Now()
		for i := range shares {
			all.Go(func() {
				if err := shares[i].Grow(t.Context(), 80); err != nil && !errors.Is(err, ErrFull) {
					t.Error(err)
				}
				shares[i].Free()
			})
		}
		all.Wait()
		if took := time.Since(began); took > 2*Patience {
			t.Errorf("it took %s", took)
		}
		if b.Taken() != 0 || len(b.waiters) != 0 || b.waiting.Load() != 0 {
			t.Errorf("%d are taken, %d wait", b.Taken(), len(b.waiters))
		}
	})
}

func TestWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := New(100)
		holder := b.Share("")
		if err := holder.Grow(t.Context(), 90); err != nil {
			t.Fatal(err)
		}
		var large, small Share
		var order []string
		var all sync.WaitGroup
		wait := func(share *Share, name string, size int64) {
			*share = b.Share("")
			all.Go(func() {
				if err := share.Grow(t.Context(), size); err != nil {
					t.Errorf("%s: Grow failed: %v", name, err)
				}
				order = append(order, name)
			})
			synctest.Wait()
		}
		wait(&large, "large", 60)
		wait(&small, "small", 15)
		b.Resize(105) // enough for one of the shares
		synctest.Wait()
		b.Resize(100)
		holder.Free()
		all.Wait()
		if strings.Join(order, " ") != "small large" || b.Taken() != 75 {
			t.Errorf("%v, %d are taken", order, b.Taken())
		}

		late := b.Share("")
		began := time.Now()
		for range 3 { // all waits of a share are bounded together
			if err := late.Grow(t.Context(), 50); !errors.Is(err, ErrFull) {
				t.Errorf("got the error %v, want %v", err, ErrFull)
			}
		}
		if took := time.Since(began); took != Patience {
			t.Errorf("it waited %s", took)
		}
		if err := late.Grow(t.Context(), 101); !errors.Is(err, ErrFull) || time.Since(began) != Patience {
			t.Errorf("more than there is: %v after %s", err, time.Since(began))
		}
		if b.Refused() != 4 {
			t.Errorf("%d were refused", b.Refused())
		}

		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("gone")
		cancel(cause)
		left := b.Share("")
		if err := left.Grow(ctx, 50); !errors.Is(err, cause) || b.Taken() != 75 {
			t.Errorf("a client that left: %v, %d are taken", err, b.Taken())
		}

		b.Resize(250)
		if err := left.Grow(t.Context(), 135); err != nil {
			t.Errorf("after more was given: %v", err)
		}
	})
}

func TestReadAll(t *testing.T) {
	t.Parallel()
	text := bytes.Repeat([]byte("0123456789abcdef"), 20_000) // 320,000 bytes
	for name, c := range map[string]struct {
		size, most int64
		want       error
	}{
		"of known size":     {320_000, 320_000, nil},
		"of unknown size":   {-1, 320_000, nil},
		"longer than most":  {-1, 319_999, ErrTooLarge},
		"said to be longer": {320_001, 320_000, ErrTooLarge},
		"cut off":           {320_001, 400_000, io.ErrUnexpectedEOF},
		"of the first part": {100, 100, nil},
	} {
		for kind, r := range map[string]io.Reader{"": bytes.NewReader(text), ", with its end": iotest.DataErrReader(bytes.NewReader(text))} {
			b := New(1 << 20)
			share := b.Share("")
			got, err := share.ReadAll(t.Context(), r, make([]byte, 0, 10), c.size, c.most)
			if !errors.Is(err, c.want) {
				t.Errorf("%s%s: got the error %v, want %v", name, kind, err, c.want)
			}
			if want := min(int64(len(text)), max(c.size, 0)); err == nil && c.size >= 0 && int64(len(got)) != want {
				t.Errorf("%s%s: %d bytes", name, kind, len(got))
			}
			if err == nil && !bytes.Equal(got, text[:len(got)]) {
				t.Errorf("%s%s: other bytes", name, kind)
			}
			if int64(cap(got)) > max(b.Taken(), 10) {
				t.Errorf("%s%s: %d bytes of memory, %d are taken", name, kind, cap(got), b.Taken())
			}
		}
	}
}

// TestDeclaredLengthReservesLittle checks that a declared length alone reserves at most one piece, even if the client
// then sends nothing more.
func TestDeclaredLengthReservesLittle(t *testing.T) {
	t.Parallel()
	b := New(1 << 30)
	share := b.Share("")
	broken := errors.New("broken")
	got, err := share.ReadAll(t.Context(), io.MultiReader(strings.NewReader("a"), iotest.ErrReader(broken)), nil, 32<<20, 32<<20)
	if !errors.Is(err, broken) || string(got) != "a" || b.Taken() > firstKnown {
		t.Errorf("%q, error %v, %d are taken", got, err, b.Taken())
	}
	share.Free()
	full := New(firstKnown)
	share = full.Share("")
	if _, err := share.ReadAll(t.Context(), strings.NewReader(strings.Repeat("x", firstKnown+1)), nil, -1, 1<<20); !errors.Is(err, ErrFull) {
		t.Errorf("got the error %v, want %v", err, ErrFull)
	}
}

func TestDefault(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	for limit, want := range map[int64]int64{4 << 30: 1 << 30, 100 << 20: MinBudget} {
		debug.SetMemoryLimit(limit)
		if got := Default(); got != want {
			t.Errorf("%d of %d, want %d", got, limit, want)
		}
	}
	debug.SetMemoryLimit(math.MaxInt64)
	if got := Default(); got < MinBudget || got > 1<<44 {
		t.Errorf("%d of this machine", got)
	}
}

func BenchmarkShare(b *testing.B) {
	budget := New(1 << 30)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			share := budget.Share("")
			_ = share.Grow(b.Context(), 1024)
			share.Free()
		}
	})
}
