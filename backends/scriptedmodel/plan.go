package scriptedmodel

import (
	"slices"
	"strings"
	"sync"
)

const (
	maxPlans    = 128      // parsed scripts that are kept
	maxPlanSize = 4 << 10  // bytes of a model name whose plan is kept
	maxPlanText = 64 << 10 // bytes of an answer that is kept
)

// plan is a parsed script and, if it is the same for all requests, its answer. All requests with the same model name
// share a plan, which does not change once it is in the cache.
type plan struct {
	model  string // model name without the script
	script *script
	answer *answer // nil if it depends on the request
}

// planCache keeps the plans of recent model names, because benchmarks and tests use the same one again and again.
type planCache struct {
	mu    sync.RWMutex
	plans map[string]*plan
}

// get returns the plan for a model name with its script, or nil.
func (p *planCache) get(model string) *plan {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.plans[model]
}

// put adds a plan for a model name with its script. It empties a full cache first, which is sufficient for the few
// names that a run uses.
func (p *planCache) put(model string, added *plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.plans == nil || len(p.plans) >= maxPlans {
		p.plans = make(map[string]*plan)
	}
	p.plans[model] = added
}

// plan finds or creates the plan of the request, and sets c.model, c.scr and c.ans. A request with a script in its last
// user message has a plan of its own, which is not stored.
func (c *call) plan() error {
	lineQuery, userText := cutScript(c.req.lastUser)
	if lineQuery == "" {
		if p := c.srv.plans.get(c.req.model); p != nil {
			return c.usePlan(p, userText)
		}
	}
	// The model name is a part of the string with the whole body. Copy it, so that a stored plan does not keep the body
	// in memory.
	fullModel := c.req.model
	if len(fullModel) <= maxPlanSize {
		fullModel = strings.Clone(fullModel)
	}
	model, query, _ := strings.Cut(fullModel, "?")
	if len(model) > maxName {
		return badRequest("invalid_value", "model", "the model name is longer than %d bytes", maxName)
	}
	s, scriptErr := parseScript(query, lineQuery)
	if scriptErr != nil {
		return scriptErr
	}
	p := &plan{model: model, script: s}
	if lineQuery == "" && len(fullModel) <= maxPlanSize {
		a, static, err := newAnswer(s, model, userText, c)
		if err != nil {
			return err
		}
		if static && len(a.text) <= maxPlanText {
			a.split(s) // now, because later requests share the answer and must not change it
			p.answer = a
		}
		c.srv.plans.put(fullModel, p)
	}
	return c.usePlan(p, userText)
}

// usePlan sets c.model, c.scr and c.ans to those of a plan. userText is the last user message without its script.
func (c *call) usePlan(p *plan, userText string) (err error) {
	c.model, c.scr, c.ans = p.model, p.script, p.answer
	if c.ans == nil {
		c.ans, _, err = newAnswer(p.script, p.model, userText, c)
	}
	return err
}

// maxFailKeys limits the number of keys in a failureCounts.
const maxFailKeys = 4096

// failureCounts counts the failed requests of each fail_key.
type failureCounts struct {
	mu     sync.Mutex
	counts map[string]int
	order  []string // keys by age, to drop the oldest
}

// take reports whether a request with a fail_key must fail, because fewer than limit requests with the key have
// failed so far. If so, it counts the request.
func (f *failureCounts) take(key string, limit int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, known := f.counts[key]
	if n >= limit {
		return false
	}
	if !known {
		if f.counts == nil {
			f.counts = make(map[string]int)
		}
		if len(f.order) >= maxFailKeys {
			delete(f.counts, f.order[0])
			f.order = slices.Delete(f.order, 0, 1)
		}
		key = strings.Clone(key) // does not keep the request's body in memory
		f.order = append(f.order, key)
	}
	f.counts[key] = n + 1
	return true
}
