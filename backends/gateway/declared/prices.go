package declared

import (
	"encoding/json"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/ownprices"
)

// Prices lists the prices that replace list prices. A nil pointer means that the file does not mention prices; an empty
// list means that no list price is replaced.
type Prices struct{ List []Price }

// Price is a price in a file. Line is its line in the file.
type Price struct {
	ownprices.Entry
	Line int
}

// maxPriceDepth is the nesting limit for objects in a price.
const maxPriceDepth = 4

// prices reads an object that maps names of models to prices. The result is nil if n is null or faulty.
func (r *reader) prices(n *yaml.Node) *Prices {
	if n.ShortTag() == "!!null" || !r.plain(n, "prices") {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		r.errorAt(n.Line, "prices must be an object that maps models to prices, such as openai/*: {discount: 15}")
		return nil
	}
	prices := &Prices{List: []Price{}}
	seen := make(map[string]int) // the line of each name
	// Content has the names and the values in turn.
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		switch {
		case name.Kind != yaml.ScalarNode || !ownprices.IsName(name.Value):
			r.errorAt(name.Line, "prices: %.100q is not a name such as openai/gpt-5.4-nano or openai/*", name.Value)
			continue
		case seen[name.Value] > 0:
			r.errorAt(name.Line, "the price of %.100q is already set in line %d", name.Value, seen[name.Value])
			continue
		case len(prices.List) == ownprices.MaxPrices:
			r.errorAt(name.Line, "there are more than %d prices", ownprices.MaxPrices)
			return prices
		}
		seen[name.Value] = name.Line
		text, err := checkedPrice(name.Value, value)
		if err != nil {
			r.errorAt(name.Line, "the price of %s", err)
			continue
		}
		prices.List = append(prices.List, Price{ownprices.Entry{Name: name.Value, Text: string(text)}, name.Line})
	}
	return prices
}

// checkedPrice returns the price of the model or provider called name as JSON. The error is for the message "the price
// of <error>".
func checkedPrice(name string, value *yaml.Node) (json.RawMessage, error) {
	text, err := jsonDeep(value, maxPriceDepth)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	prices, err := json.Marshal(map[string]json.RawMessage{name: text})
	if err != nil {
		return nil, err
	}
	_, err = catalog.ParsePrices(prices)
	return text, err
}

// jsonDeep returns a node as JSON, with the members of objects sorted, so that equal values have equal texts. Objects
// may be nested up to depth.
func jsonDeep(n *yaml.Node, depth int) (json.RawMessage, error) {
	if n.Kind != yaml.MappingNode {
		return jsonOf(n)
	}
	if depth == 0 || n.Style&yaml.TaggedStyle != 0 {
		return nil, errors.New("it has objects that are nested too deeply, or a YAML tag")
	}
	object := make(map[string]json.RawMessage)
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Kind != yaml.ScalarNode {
			return nil, errors.New("it has a field whose name is not a string")
		}
		name := n.Content[i].Value
		if _, twice := object[name]; twice {
			return nil, fmt.Errorf("it has the field %.100q twice", name)
		}
		value, err := jsonDeep(n.Content[i+1], depth-1)
		if err != nil {
			return nil, err
		}
		object[name] = value
	}
	return json.Marshal(object)
}

// object returns the prices in the form that Read parses.
func (p *Prices) object() object {
	o := make(object, 0, len(p.List))
	for _, price := range p.List {
		var value any
		if err := json.Unmarshal([]byte(price.Text), &value); err != nil { // cannot happen: the price was checked
			value = price.Text
		}
		o = append(o, field{price.Name, value})
	}
	return o
}

// applyPrices stores the prices of the file. Other prices are removed only with Options.Prune.
func (a *applier) applyPrices() error {
	if a.file.Prices == nil {
		return nil
	}
	stored, err := ownprices.List(a.ctx, a.Service)
	if err != nil {
		return err
	}
	declared := make(map[string]bool, len(a.file.Prices.List))
	for _, p := range a.file.Prices.List {
		declared[p.Name] = true
	}
	storedTexts := make(map[string]string, len(stored)) // by name
	for _, e := range stored {
		storedTexts[e.Name] = e.Text
		if !a.options.Prune || declared[e.Name] {
			continue
		}
		// Prices are removed before others are added. Otherwise the old and the new prices together might be more than
		// ownprices.MaxPrices.
		if err := ownprices.Remove(a.ctx, a.Service, e.Name); err != nil {
			return err
		}
		a.note(Removed, e.Text, "price of %s", e.Name)
	}
	for _, p := range a.file.Prices.List {
		oldText, exists := storedTexts[p.Name]
		if exists && oldText == p.Text {
			continue
		}
		if cat := a.options.Catalog; cat != nil && !ownprices.Fits(cat, p.Name) {
			return fmt.Errorf("line %d: prices: there is no model %q; see all with: curl <gateway>/v1/models", p.Line, p.Name)
		}
		if err := ownprices.Set(a.ctx, a.Service, p.Entry); err != nil {
			return err
		}
		if exists {
			a.note(Changed, oldText+" -> "+p.Text, "price of %s", p.Name)
		} else {
			a.note(Added, p.Text, "price of %s", p.Name)
		}
	}
	return nil
}
