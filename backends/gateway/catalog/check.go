package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// efforts are the names of the levels of reasoning.
var efforts = [...]string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// The names and patterns that a data file may use.
var (
	codePattern     = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)
	envPattern      = regexp.MustCompile(`^[A-Z_][A-Z0-9_]{0,63}$`)
	memberPattern   = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	idPattern       = regexp.MustCompile(`^[!-~]{1,200}$`)
	headerPattern   = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)
	endpointPattern = regexp.MustCompile(`^[a-z]{1,32}(/[a-z]{1,32})?$`)
	partPattern     = regexp.MustCompile(`\{[a-z][a-z0-9_]{0,31}\}`)
	pathPattern     = regexp.MustCompile(`^/[A-Za-z0-9/_.:-]{1,200}(\?[A-Za-z0-9=&_.-]{1,100})?$`)
	termPattern     = regexp.MustCompile(`^[a-z0-9_-]{1,32}$`)
	valuePattern    = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

	modalities = []string{ModalityText, ModalityImage, ModalityFile, ModalityAudio}
	wires      = []string{WireResponses, WireMessages, WireConverse}
	auths      = []string{AuthBearer, AuthXAPIKey, AuthAPIKey, AuthEntra, AuthGoogle, AuthAWS}

	// essential members are needed in every request; the Drop list of a Shape must not contain them.
	essential = []string{"model", "messages", "stream", FieldMaxTokens, FieldMaxCompletionTokens}
	// reserved headers frame the body or hold the key. Only the gateway sets them.
	reserved = []string{
		"authorization", "x-api-key", "api-key", "host", "connection", "content-length",
		"content-type", "transfer-encoding", "upgrade", "te", "trailer",
	}
)

const (
	maxList    = 64
	maxText    = 1000
	maxURL     = 500
	maxTokens  = 100_000_000
	maxTimeout = time.Hour
)

// checkProvider returns an error if a value of p is invalid. The error names the member of the file that has the
// value. checkProvider removes trailing slashes from the base URLs.
func checkProvider(p *Provider) error {
	if !codePattern.MatchString(p.Code) {
		return errors.New("code: must be 1 to 32 of a-z, 0-9, _ and -, starting with a letter")
	}
	if err := cmp.Or(
		checkText("name", p.Name, true),
		checkText("note", p.Note, false),
		trimBase("base_url", &p.BaseURL),
		checkList("env", p.Env, envPattern.MatchString),
	); err != nil {
		return err
	}
	if !slices.Contains(auths, p.Auth) {
		return fmt.Errorf("auth: %q is not one of %s", clip(p.Auth), strings.Join(auths, ", "))
	}
	return cmp.Or(
		checkTokens(p),
		checkPaths(p),
		checkHeaders(p.Headers),
		checkWires(p),
		checkEndpoints(p.Endpoints),
		checkLink("docs_url", p.DocsURL),
		checkLink("key_url", p.KeyURL),
		checkTimeouts(p.Timeouts),
		checkShape(&p.Shape),
	)
}

// checkWires returns an error if a value of p that concerns its wires is invalid. It removes trailing slashes from the
// base URLs of wires.
func checkWires(p *Provider) error {
	if err := checkList("wires", p.Wires, oneOf(wires)); err != nil {
		return err
	}
	if p.PreferWire != WireChat && !slices.Contains(p.Wires, p.PreferWire) {
		return fmt.Errorf("prefer_wire: %q is not among the wires", clip(p.PreferWire))
	}
	if p.NoChat && p.PreferWire == WireChat {
		return errors.New("prefer_wire: must be set for a provider with no_chat")
	}
	for wire, base := range p.WireBaseURLs {
		if !slices.Contains(p.Wires, wire) {
			return fmt.Errorf("wire_base_urls: %q is not among the wires", clip(wire))
		}
		if err := trimBase("wire_base_urls."+wire, &base); err != nil {
			return err
		}
		p.WireBaseURLs[wire] = base
	}
	if p.AffinityHeader != "" &&
		(!headerPattern.MatchString(p.AffinityHeader) || slices.Contains(reserved, strings.ToLower(p.AffinityHeader))) {
		return fmt.Errorf("affinity_header: %q is not a header name, or the gateway sets that header itself",
			clip(p.AffinityHeader))
	}
	return nil
}

// checkEndpoints returns an error if an endpoint of a provider is invalid. It removes trailing slashes from the
// addresses. An empty address means the base URL of the provider.
func checkEndpoints(endpoints map[string]string) error {
	for name, address := range endpoints {
		if !endpointPattern.MatchString(name) {
			return fmt.Errorf("endpoints: %q is not a path such as audio/speech", clip(name))
		}
		if address == "" {
			continue
		}
		if err := trimBase("endpoints."+name, &address); err != nil {
			return err
		}
		endpoints[name] = address
	}
	return nil
}

// checkShape returns an error if a value of s is invalid. The error names the member of the file that has the value.
func checkShape(s *Shape) error {
	for _, member := range []struct {
		field, value string
		allowed      []string
	}{
		{"max_tokens_field", s.MaxTokensField, []string{FieldMaxTokens, FieldMaxCompletionTokens}},
		{"tool_choice_required", s.ToolChoiceRequired, []string{"", "any", "required", "auto"}},
		{"empty_tool_content", s.EmptyToolContent, []string{ContentKeep, ContentNull, ContentOmit, ContentEmpty}},
		{"effort_field", s.EffortField, []string{EffortFlat, EffortNested}},
		{"tools_with_effort", s.ToolsWithEffort, []string{"", WireResponses, WireMessages}},
		{"reasoning_state", s.ReasoningState, []string{StateNone, StateThought, StateContent, StateDetails}},
	} {
		if !slices.Contains(member.allowed, member.value) {
			return fmt.Errorf("shape.%s: unknown value %q", member.field, clip(member.value))
		}
	}
	droppable := func(member string) bool {
		return memberPattern.MatchString(member) && !slices.Contains(essential, member)
	}
	if err := checkList("shape.drop", s.Drop, droppable); err != nil {
		return err
	}
	if err := checkList("shape.drop_for_reasoning", s.DropForReasoning, droppable); err != nil {
		return err
	}
	if len(s.Rename) > maxList {
		return fmt.Errorf("shape.rename: more than %d", maxList)
	}
	for oldName, newName := range s.Rename {
		if !droppable(oldName) || !droppable(newName) {
			return fmt.Errorf("shape.rename: %q cannot be renamed to %q", clip(oldName), clip(newName))
		}
		if slices.Contains(s.Drop, oldName) {
			return fmt.Errorf("shape.rename: %q is also in shape.drop", clip(oldName))
		}
	}
	if s.ToolCallIDMax < 0 || s.ToolCallIDMax > 0 && s.ToolCallIDMax < 24 {
		return fmt.Errorf("shape.tool_call_id_max: %d must be 0 or at least 24", s.ToolCallIDMax)
	}
	if s.PrefillField != "" && !memberPattern.MatchString(s.PrefillField) {
		return fmt.Errorf("shape.prefill_field: %q is not a member name", clip(s.PrefillField))
	}
	if s.PrefillBaseURL != "" {
		if err := trimBase("shape.prefill_base_url", &s.PrefillBaseURL); err != nil {
			return err
		}
	}
	return checkList("shape.reasoning_efforts", s.ReasoningEfforts, oneOf(efforts[:]))
}

// checkModel returns an error if a value of m is invalid. The error names the member of the file that has the value.
func checkModel(m *Model) error {
	if !idPattern.MatchString(m.ID) {
		return errors.New("id: must be 1 to 200 printable characters without spaces")
	}
	if err := cmp.Or(
		checkText("name", m.Name, true),
		checkText("family", m.Family, true),
		checkText("note", m.Note, false),
		checkList("endpoints", m.Endpoints, endpointPattern.MatchString),
	); err != nil {
		return err
	}
	if len(m.Endpoints) > 0 && (len(m.Tiers) > 0 || m.Embeddings) {
		return errors.New("endpoints: a model with endpoints must not have tiers or embeddings")
	}
	for i, t := range m.Tiers {
		// A tier that is null in the JSON text is zero here.
		if t < Low || t > High || slices.Contains(m.Tiers[:i], t) {
			return errors.New("tiers: must be low, medium or high, each at most once")
		}
	}
	if m.Embeddings && (len(m.Tiers) > 0 || m.Tools || m.JSONSchema || m.Reasoning || m.Prefill) {
		return errors.New("embeddings: a model for embeddings must not have tiers, tools, json_schema, reasoning or prefill")
	}
	if err := cmp.Or(
		checkTokenCount("context_window", m.ContextWindow),
		checkTokenCount("max_output", m.MaxOutput),
	); err != nil {
		return err
	}
	if m.ContextWindow > 0 && m.MaxOutput > m.ContextWindow {
		return errors.New("max_output: larger than context_window")
	}
	if err := checkList("modalities", m.Modalities, oneOf(modalities)); err != nil {
		return err
	}
	if !m.Accepts(ModalityText) {
		return errors.New("modalities: text is missing")
	}
	if err := checkList("reasoning_efforts", m.ReasoningEfforts, oneOf(efforts[:])); err != nil {
		return err
	}
	if len(m.ReasoningEfforts) > 0 && !m.Reasoning {
		return errors.New("reasoning_efforts: given for a model without reasoning")
	}
	return m.Price.check()
}

// checkTokenCount returns an error if count, a number of tokens, is out of range. memberName is the name of the
// member of the file that has this value.
func checkTokenCount(memberName string, count int) error {
	if count < 0 || count > maxTokens {
		return fmt.Errorf("%s: %d is not between 0 and %d", memberName, count, maxTokens)
	}
	return nil
}

// checkExtras checks the factors or the call prices of a price. path is their path in the file, for errors. Names that
// cannot occur in the answers of providers are errors, since they could never match.
func checkExtras(path string, extras map[string]float64) error {
	if len(extras) > maxList {
		return fmt.Errorf("%s: more than %d", path, maxList)
	}
	for _, name := range slices.Sorted(maps.Keys(extras)) {
		switch value := extras[name]; {
		case !termPattern.MatchString(name):
			return fmt.Errorf("%s: %q must be 1 to 32 of a-z, 0-9, _ and -", path, clip(name))
		case value < 0 || value > maxFactor:
			return fmt.Errorf("%s.%s: %g is not between 0 and %d", path, name, value, maxFactor)
		case !hasSixDecimals(value):
			return fmt.Errorf("%s.%s: %g has more than six decimals", path, name, value)
		}
	}
	return nil
}

// hasSixDecimals reports whether a number has at most six decimals, apart from the inexactness of a float64.
func hasSixDecimals(value float64) bool {
	scaled := value * rateScale
	return math.Abs(scaled-math.Round(scaled)) <= 1e-3
}

// checkRates checks the rates of a price. path is their path in the file, for errors.
func checkRates(path string, r Rates) error {
	for _, f := range []struct {
		field string
		value float64
	}{
		{"input", r.Input},
		{"cached_input", r.CachedInput},
		{"cache_write", r.CacheWrite},
		{"cache_write_1h", r.CacheWriteHour},
		{"output", r.Output},
	} {
		if f.value < 0 || f.value > maxRate {
			return fmt.Errorf("%s.%s: %g is not between 0 and %d USD", path, f.field, f.value, maxRate)
		}
		if !hasSixDecimals(f.value) {
			return fmt.Errorf("%s.%s: %g has more than six decimals", path, f.field, f.value)
		}
	}
	return nil
}

// checkTimeouts returns an error if a timeout is out of range. The error names the timeout.
func checkTimeouts(t Timeouts) error {
	for _, f := range []struct {
		field string
		value time.Duration
	}{
		{"connect", t.Connect},
		{"first_content.low", t.FirstContent.Low},
		{"first_content.medium", t.FirstContent.Medium},
		{"first_content.high", t.FirstContent.High},
		{"answer.low", t.Answer.Low},
		{"answer.medium", t.Answer.Medium},
		{"answer.high", t.Answer.High},
		{"idle", t.Idle},
	} {
		if f.value < 0 || f.value > maxTimeout {
			return fmt.Errorf("timeouts.%s: %s is not between 0 and %s", f.field, f.value, maxTimeout)
		}
	}
	return nil
}

// checkHeaders returns an error if a header cannot be added to requests.
func checkHeaders(headers map[string]string) error {
	if len(headers) > maxList {
		return fmt.Errorf("headers: more than %d", maxList)
	}
	for name, value := range headers {
		if !headerPattern.MatchString(name) {
			return fmt.Errorf("headers: %q is not a header name", clip(name))
		}
		if slices.Contains(reserved, strings.ToLower(name)) {
			return fmt.Errorf("headers: %s is set by the gateway", name)
		}
		// The error does not quote the value, which may be a secret of the operator's proxy.
		if len(value) > maxText || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
			return fmt.Errorf("headers: the value of %s must be printable ASCII of at most %d characters", name, maxText)
		}
	}
	return nil
}

// checkText checks the length and the characters of text. memberName is the name of the member of the file that has
// this value. An empty text is an error if required is set.
func checkText(memberName, text string, required bool) error {
	switch {
	case required && strings.TrimSpace(text) == "":
		return fmt.Errorf("%s: is missing", memberName)
	case len(text) > maxText:
		return fmt.Errorf("%s: longer than %d bytes", memberName, maxText)
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("%s: has a control character", memberName)
	}
	return nil
}

// checkList returns an error if a list in the file is too long, has a duplicate, or has an element for which fits
// returns false. memberName is the name of the member that has the list.
func checkList(memberName string, list []string, fits func(string) bool) error {
	if len(list) > maxList {
		return fmt.Errorf("%s: has more than %d elements", memberName, maxList)
	}
	for i, s := range list {
		if !fits(s) {
			return fmt.Errorf("%s: %q is not allowed", memberName, clip(s))
		}
		if slices.Contains(list[:i], s) {
			return fmt.Errorf("%s: %q is listed twice", memberName, clip(s))
		}
	}
	return nil
}

// oneOf returns a function for checkList that accepts the given words.
func oneOf(words []string) func(string) bool {
	return func(s string) bool { return slices.Contains(words, s) }
}

// trimBase checks the base URL *base and removes its trailing slashes. The URL may have {name} parts that the
// configuration fills; Provider.complete checks that none is left. memberName is the name of the member in the file,
// for errors. Errors do not quote the URL, since it could contain a password.
func trimBase(memberName string, base *string) error {
	trimmed := strings.TrimRight(*base, "/")
	filled := partPattern.ReplaceAllLiteralString(trimmed, "x")
	if strings.ContainsAny(filled, "{}") {
		return fmt.Errorf("%s: %q is not filled in", memberName, clip(filled[strings.IndexAny(filled, "{}"):]))
	}
	u, err := url.Parse(filled)
	switch {
	case len(filled) > maxURL:
		return fmt.Errorf("%s: longer than %d characters", memberName, maxURL)
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		return fmt.Errorf("%s: must be an absolute http or https URL", memberName)
	case u.User != nil:
		return fmt.Errorf("%s: must not contain a user or password", memberName)
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(filled, "#"):
		return fmt.Errorf("%s: must have no query and no fragment", memberName)
	}
	*base = trimmed
	return nil
}

// checkLink returns an error unless link is empty or an https URL. memberName is the name of the member of the file
// that has this value.
func checkLink(memberName, link string) error {
	if link == "" {
		return nil
	}
	u, err := url.Parse(link)
	if err != nil || len(link) > maxURL || u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return fmt.Errorf("%s: must be an absolute https URL", memberName)
	}
	return nil
}
