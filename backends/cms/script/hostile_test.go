package script

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/backends/cms/script/js"
	"github.com/tollgate-gateway/tollgate/backends/cms/script/worker"
)

// hostile are bodies of methods that would make a gateway fail, or return a wrong answer, if the engine had no limits
// from outside. The time limit ends a call with the status 504; the memory limit, and limits of the engine, with 500.
var hostile = map[string]struct {
	body string
	want int // the status; 0 if either limit may be reached first
}{
	"loop":               {`for (;;);`, 504},
	"loop that catches":  {`for (;;) { try { for (;;); } catch (e) {} finally { continue } }`, 504},
	"sparse spread":      {`const a = []; a[4294967290] = 1; return {n: [...a].length}`, 0},
	"sparse parameters":  {`const a = []; a.length = 2 ** 32 - 1; return Math.max(...a)`, 0},
	"sparse search":      {`const a = []; a.length = 2 ** 32 - 1; for (;;) a.indexOf(1)`, 504},
	"sparse sort":        {`const a = []; a.length = 2 ** 32 - 1; a.sort(); return a.fill(1).length`, 0},
	"copy of a like":     {`return Array.from({length: 2 ** 53 - 1}).length`, 0},
	"concat of a like":   {`return [].concat({length: 2 ** 53 - 1, [Symbol.isConcatSpreadable]: true}).length`, 0},
	"apply of a like":    {`return Math.max.apply(null, {length: 2 ** 31})`, 0},
	"digits":             {"return String('1'.repeat(50000)).replace(/\\B(?=(\\d{3})+(?!\\d))/g, ',')", 504},
	"backtracking":       {`return /^(a+)+\1$/.test("a".repeat(60) + "b")`, 504},
	"many matches":       {`return 'x'.repeat(2 ** 25).match(/x/g).length`, 0},
	"split":              {`return 'x'.repeat(2 ** 26).split('').length`, 0},
	"power":              {`return String(2n ** (2n ** 40n))`, 0},
	"multiplication":     {`let n = 3n; for (;;) n *= n`, 0},
	"large integer text": {`return String(BigInt('9'.repeat(1e8)))`, 0},
	"endless iterator":   {`return new Set({[Symbol.iterator]: () => ({next: () => ({value: 1, done: false})})}).size`, 504},
	"endless values":     {`return Array.from({[Symbol.iterator]: () => ({next: () => ({value: 1, done: false})})})`, 0},
	"doubled text":       {`let s = "xxxxxxxxxxxxxxxx"; for (;;) s += s`, 500},
	"repeated text":      {`const all = []; for (;;) all.push("x".repeat(2 ** 28))`, 500},
	"padded text":        {`return "x".padEnd(2 ** 31 - 1).length`, 0},
	"growing list":       {`for (const all = [];;) all.push({n: all.length})`, 500},
	"buffer":             {`return new ArrayBuffer(2 ** 36).byteLength`, 500},
	"buffers":            {`for (const all = [];;) all.push(new Uint8Array(2 ** 20).fill(1))`, 500},
	"huge JSON":          {`let o = {a: 1}; for (let i = 0; i < 40; i++) o = {l: o, r: o}; return JSON.stringify(o)`, 0},
	"endless JSON":       {`return JSON.stringify(new Proxy([], {get: (t, k) => k === 'length' ? 2 ** 31 : 1}))`, 0},
	"deep JSON":          {`return JSON.parse("[".repeat(1e7))`, 500},
	"recursion":          {`const f = () => f() + 1; return f()`, 500},
	"native recursion":   {`const f = () => [1].map(f); return f()`, 500},
	"nested JSON":        {`const o = {toJSON: () => JSON.stringify(o)}; return JSON.stringify(o)`, 500},
	"nested list":        {`let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a`, 500},
	"flat":               {`const a = []; a.push(a); return a.flat(Infinity)`, 500},
	"large answer":       {`return "x".repeat(9e6)`, 500},
	"wide answer":        {`const a = []; a.length = 2 ** 32 - 1; return a`, 500},
	"answer of a getter": {`return {get a() { for (;;); }}`, 504},
	"answer of a proxy":  {`return new Proxy({}, {ownKeys() { for (;;); }})`, 504},
	"error of a text":    {`throw {toString() { for (;;); }}`, 504},
	"error of a code":    {`throw {get code() { for (;;); }}`, 504},
	"large error":        {`throw new Error("x".repeat(2 ** 26))`, 500},
	"flood of reads":     {`for (;;) try { pages.count("x") } catch (e) {}`, 504},
	"flood of the cache": {`for (let i = 0;; i++) cache.set("k" + i % 9, i)`, 504},
	"flood of lines":     {`for (;;) console.log("x".repeat(5000))`, 504},
	"flood of headers":   {`for (let i = 0;; i++) ctx.setHeader("X-" + i, "x".repeat(60000))`, 500},
	"large question":     {`return pages.count("x".repeat(2 ** 25))`, 500},
	"many parts":         {`return pages.add({a: Array(1e6).fill(0)})`, 500},
	"microtasks":         {`const again = () => Promise.resolve().then(again); return again()`, 504},
	"promises":           {`const all = []; for (;;) all.push(new Promise(() => {}))`, 0},
	"no promise":         {`return new Promise(() => {})`, 500},
	"broken engine":      {`Object.prototype.toString = Array.prototype.push = JSON.parse = Promise = undefined; for (const k of Object.getOwnPropertyNames(globalThis)) try { globalThis[k] = null } catch (e) {}; return {get a() { return b() }}`, 500},
}

// status returns the status that a client gets.
func status(err error) int {
	e, ok := handler.Of(err)
	switch {
	case err == nil:
		return 200
	case ok:
		return e.Code
	}
	return 500
}

// TestHostileHandlers checks that callers of hostile handlers get 504 or 500 in time, and that all other callers of
// the same and of another site get their answers. No process may exceed its memory limit.
func TestHostileHandlers(t *testing.T) {
	var class strings.Builder
	class.WriteString("static good(data) { return {id: data.id, page: pages.get('x').title} }\n")
	names := make([]string, 0, len(hostile))
	for name, h := range hostile {
		fmt.Fprintf(&class, "static m%d(data, ctx) { %s }\n", len(names), h.body)
		names = append(names, name)
	}
	const limit = 500 * time.Millisecond
	var ended atomic.Int64
	o := Options{
		Timeout: limit, Wait: 5 * time.Minute, Logger: func() *zap.Logger { return zap.NewNop() }, Ended: func(string) { ended.Add(1) },
		Pages: &fakePages{get: func(context.Context) (Object, error) { return Object{"title": "a"}, nil }},
	}
	attacked, other := load(t, o, class.String()), load(t, Options{Timeout: time.Minute, Wait: time.Minute, Pages: o.Pages}, class.String())
	for _, p := range []*Program{attacked, other} { // as before an attack
		if _, err := runWithin(time.Minute, p, "good", callWith(nil)); err != nil {
			t.Fatal(err)
		}
	}
	memory := watchMemory(t)
	var slowest atomic.Int64
	var done atomic.Bool
	var hostiles, goods sync.WaitGroup
	for i, name := range names {
		hostiles.Go(func() {
			got, err := runFor(attacked, fmt.Sprint("m", i), nil)
			// On a busy machine, the time limit may end a call before anything else does.
			if code, want := status(err), hostile[name].want; code != 500 && code != 504 || want == 504 && code != want {
				t.Errorf("%s: %s, %v instead of %d", name, resultText(got), err, want)
			}
		})
	}
	for _, p := range []*Program{attacked, other} {
		for i := range 4 {
			goods.Go(func() {
				for n := 0; !done.Load() || n < 50; n++ {
					begun := time.Now()
					got, err := runWithin(time.Minute, p, "good", callWith(map[string]any{"id": i}))
					if want := fmt.Sprintf(`{"id":%d,"page":"a"}`, i); err != nil || resultText(got) != want {
						t.Errorf("good: %s, %v", resultText(got), err)
					}
					if took := int64(time.Since(begun)); took > slowest.Load() {
						slowest.Store(took)
					}
				}
			})
		}
	}
	hostiles.Wait()
	done.Store(true)
	goods.Wait()
	peak := memory()
	t.Logf("the slowest of the others took %s, a process %d MiB at most, %d processes ended", time.Duration(slowest.Load()), peak>>20, ended.Load())
	if peak > (worker.MaxMemory+192<<20)*memoryFactor {
		t.Errorf("a process took %d MiB", peak>>20)
	}
	if ended.Load() == 0 {
		t.Error("no process was ended")
	}
}

// runFor calls a method of class A, from any goroutine.
func runFor(p *Program, name string, c *handler.Call) (any, error) {
	if c == nil {
		c = callWith(nil)
	}
	class, _ := p.Class("A")
	return class.Methods[name](context.Background(), c)
}

// runWithin does what runFor does, with a given limit.
func runWithin(limit time.Duration, p *Program, name string, c *handler.Call) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if c == nil {
		c = callWith(nil)
	}
	class, _ := p.Class("A")
	return class.Methods[name](ctx, c)
}

// watchMemory watches how much memory the worker processes of this process take. The function that it returns ends
// this, and returns the most that one of them took.
func watchMemory(t *testing.T) func() int64 {
	t.Helper()
	end, peak := make(chan struct{}), make(chan int64)
	go func() {
		var max int64
		for {
			for _, p := range workers(t) {
				if p.resident > max {
					max = p.resident
				}
			}
			select {
			case <-end:
				peak <- max
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	return func() int64 { close(end); return <-peak }
}

// child is a process for handlers.
type child struct {
	pid      int
	resident int64 // anonymous memory in bytes
}

// workers returns the worker processes that this process has started.
func workers(t *testing.T) (all []child) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		if goruntime.GOOS == "linux" {
			t.Fatal(err)
		}
		t.Skip("processes are looked up in /proc, which Linux alone has")
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if string(line) != worker.Name+"\x00" {
			continue
		}
		text, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "status"))
		found := child{pid: pid}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) < 2 {
				continue
			}
			n, _ := strconv.ParseInt(fields[1], 10, 64)
			switch fields[0] {
			case "RssAnon:":
				found.resident = n << 10
			case "PPid:":
				if int(n) != os.Getpid() {
					found.pid = 0
				}
			}
		}
		if found.pid != 0 {
			all = append(all, found)
		}
	}
	return all
}

// TestKilledProcess checks that the caller of a killed process gets 500, and that the next caller gets an answer.
func TestKilledProcess(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	reason := make(chan string, 1)
	p := load(t, Options{Timeout: time.Minute, Wait: time.Minute, Ended: func(s string) { reason <- s }}, `static m() { pages.get("x"); for (;;); } static good() { return 1 }`)
	p.engine.Pages = &fakePages{get: func(context.Context) (Object, error) { close(begun); return nil, nil }}
	failed := make(chan error)
	go func() { _, err := run(t, p, "m", nil); failed <- err }()
	<-begun
	p.engine.pool.mu.Lock()
	for call := range p.engine.pool.running {
		call.runner.(*process).kill()
	}
	p.engine.pool.mu.Unlock()
	err := <-failed
	if _, ok := errors.AsType[*endedError](err); !ok || status(err) != 500 || !strings.Contains(err.Error(), "killed") {
		t.Errorf("error %v", err)
	}
	if got := <-reason; got != endedDied {
		t.Errorf("the reason for the end is %s, want %s", got, endedDied)
	}
	if got, err := run(t, p, "good", nil); err != nil || resultText(got) != "1" {
		t.Errorf("%s, %v", resultText(got), err)
	}
}

// TestProcessKilledFromOutside checks that a call in which the engine cannot be interrupted ends with its process
// within 200 ms after the limit, on a machine that is not busy, and that the log has the reason.
func TestProcessKilledFromOutside(t *testing.T) {
	t.Parallel()
	reasons := make(chan string, 100)
	p := load(t, Options{Timeout: 300 * time.Millisecond, Wait: time.Minute, Ended: func(s string) { reasons <- s }}, `
static stuck() { return /^(a+)+\1$/.test("a".repeat(60) + "b") }
static bomb() { return new ArrayBuffer(2 ** 36).byteLength }
static loop() { for (;;); }`)
	begun := time.Now()
	if _, err := run(t, p, "stuck", nil); status(err) != 504 {
		t.Errorf("error %v", err)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
	// On a busy machine, the time may be over before the script has begun to match the pattern.
	for try := 0; len(reasons) == 0 && try < 5; try++ {
		_, _ = runWithin(5*time.Second, p, "stuck", nil)
	}
	// awaitEnd waits until a process has ended for a reason. It ignores earlier processes that ended because of the time
	// limit: several attempts above may have ended so, and Options.Ended may be called after the call has returned.
	awaitEnd := func(want string) {
		t.Helper()
		var others []string
		for limit := time.After(time.Minute); ; {
			select {
			case got := <-reasons:
				if got == want {
					return
				}
				if others = append(others, got); got != endedTime {
					t.Errorf("a process has ended for the reason %s, want %s", got, want)
				}
			case <-limit:
				t.Fatalf("no process has ended for the reason %s, but for the reasons %q", want, others)
			}
		}
	}
	awaitEnd(endedTime)
	if _, err := runWithin(time.Minute, p, "bomb", nil); !errors.Is(err, js.ErrMemory) || status(err) != 500 {
		t.Errorf("error %v", err)
	}
	awaitEnd(endedMemory)
	for try := 0; ; try++ { // on a busy machine, the gateway may kill the process before it reports a stack trace
		_, err := run(t, p, "loop", nil)
		if status(err) != 504 {
			t.Errorf("error %v", err)
		}
		if strings.HasPrefix(Stack(err), "loop (api/A.js:") {
			break
		}
		if try == 20 {
			t.Errorf("the stack trace of %v is %q, want one that begins with loop", err, Stack(err))
			break
		}
	}
}

// TestAfterRefusal checks that a call with refused operations has the usual limits, and that a sparse list does not
// end it.
func TestAfterRefusal(t *testing.T) {
	t.Parallel()
	p := load(t, Options{Timeout: time.Minute}, `
static m() { try { pages.add(1) } catch (e) {} try { users.find() } catch (e) {} for (const all = [];;) all.push(new Uint8Array(2 ** 20)) }
static gap(data) { return RestApiHelper.checkAndSanitizeRequiredParameters(data, [, "a|int"]) }`)
	if _, err := runWithin(time.Minute, p, "m", nil); !errors.Is(err, js.ErrMemory) || status(err) != 500 {
		t.Error(err)
	}
	if _, err := run(t, p, "gap", callWith(map[string]any{"a": "1"})); status(err) != 400 {
		t.Error(err)
	}
}

// TestCallMayUse100MiB checks that a call may use 100 MiB.
func TestCallMayUse100MiB(t *testing.T) {
	t.Parallel()
	p := load(t, Options{Timeout: time.Minute}, `
static buffer() { return new Uint8Array(100 * 2 ** 20).length }
static buffers() { const all = []; for (let i = 0; i < 80; i++) all.push(new Uint8Array(2 ** 20)); return all.length }
static list() { const all = []; for (let i = 0; i < 5e4; i++) all.push({i}); return all.length }
static text() { let s = "x".repeat(2 ** 20); while (s.length < 2 ** 25) s += s; return s.length }`)
	for name, want := range map[string]string{"buffer": "104857600", "buffers": "80", "list": "50000", "text": "33554432"} {
		if got, err := run(t, p, name, nil); err != nil || resultText(got) != want {
			t.Errorf("%s: %s, %v", name, resultText(got), err)
		}
	}
}
