package scriptedmodel

import (
	"strings"
	"sync"
)

const (
	maxPlans    = 128      // parsed scripts that are kept
	maxPlanSize = 4 << 10  // bytes of a model name whose plan is kept
	maxPlanText = 64 << 10 // bytes of an answer that is kept
)

// plan is a parsed script and, if it is the same for all requests, its answer.
type plan struct {
	model  string // without the script
	script *script
	answer *answer // nil if it depends on the request
}

// planCache keeps the plans of recent model names, because benchmarks and tests use the same one again and again.
type planCache struct {
	mu    sync.RWMutex
	plans map[string]*plan
}

func (p *planCache) get(model string) *plan {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.plans[model]
}

// put adds a plan. It empties a full cache, which is sufficient for the few names that a run uses.
func (p *planCache) put(model string, x *plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.plans == nil || len(p.plans) >= maxPlans {
		p.plans = make(map[string]*plan)
	}
	p.plans[model] = x
}

// plan finds or creates the plan of the request, and its answer.
func (c *call) plan() error {
	line, userText := cutScript(c.req.lastUser)
	if line == "" {
		if p := c.srv.plans.get(c.req.model); p != nil {
			return c.follow(p, userText)
		}
	}
	// The body is a single string. What outlives the request must not refer to it.
	full := c.req.model
	if len(full) <= maxPlanSize {
		full = strings.Clone(full)
	}
	model, query, _ := strings.Cut(full, "?")
	if len(model) > maxName {
		return badRequest("invalid_value", "model", "the model name is longer than %d bytes", maxName)
	}
	s, bad := parseScript(query, line)
	if bad != nil {
		return bad
	}
	p := &plan{model: model, script: s}
	if line == "" && len(full) <= maxPlanSize {
		a, static, err := newAnswer(s, model, userText, c)
		if err != nil {
			return err
		}
		if static && len(a.text) <= maxPlanText {
			a.split(s)
			p.answer = a
		}
		c.srv.plans.put(full, p)
	}
	return c.follow(p, userText)
}

// follow uses a plan for this request.
func (c *call) follow(p *plan, userText string) (err error) {
	c.model, c.scr, c.ans = p.model, p.script, p.answer
	if c.ans == nil {
		c.ans, _, err = newAnswer(p.script, p.model, userText, c)
	}
	return err
}

const maxFailKeys = 4096

// failureCounts counts the failed requests of each fail_key.
type failureCounts struct {
	mu     sync.Mutex
	counts map[string]int
	order  []string // keys by age, to drop the oldest
}

// take reports whether the next request with a key fails. If so, it counts the request.
func (f *failureCounts) take(key string, times int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, known := f.counts[key]
	if n >= times {
		return false
	}
	if !known {
		if f.counts == nil {
			f.counts = make(map[string]int)
		}
		if len(f.order) >= maxFailKeys {
			delete(f.counts, f.order[0])
			f.order = append(f.order[:0], f.order[1:]...)
		}
		key = strings.Clone(key)
		f.order = append(f.order, key)
	}
	f.counts[key] = n + 1
	return true
}
