package inquiry

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

// clues are the words of a question that show which operation it wants. takeClues takes them out of the question; a
// field is true if the question has such a word.
type clues struct {
	unread string // the words of the question that are not understood yet

	asksPeriod                 bool     // "which year", which is not in unread
	isYesNo                    bool     // "did", "is" and the like, with which a question for a yes or no begins
	limit                      []string // "above 5 million", as a match of threshold; nil if there is none
	everyYear, steady, history bool
	sign                       string // "positive" or "negative", or empty
	compound, sum, growth      bool
	average, move, up, down    bool
	most, least                bool // these words stay in unread, because they are known only in questions for a period
	healthy, paid              bool
}

// remove removes words from c.unread and reports whether there were any.
func (c *clues) remove(words *regexp.Regexp) bool {
	found := words.MatchString(c.unread)
	c.unread = words.ReplaceAllString(c.unread, " ")
	return found
}

// takeClues finds the clues in unread and takes them out of it. text is the question with its measures, and unread is
// the question without them. The order of the steps matters where two patterns match the same word: "higher than 5"
// is a threshold, and only otherwise "higher" means up.
func (q *Calculation) takeClues(text, unread string, asksPeriod bool) *clues {
	c := &clues{unread: unread, asksPeriod: asksPeriod, isYesNo: yesNo.MatchString(text)}
	c.remove(yesNo)
	if m := threshold.FindStringSubmatch(c.unread); m != nil && c.isYesNo {
		c.limit = m
		c.remove(threshold)
	}
	c.everyYear = c.remove(everyYear)
	c.steady, c.history = c.remove(steady), c.remove(historic)
	if c.steady && c.isYesNo {
		q.limit = 2 // unless the question names another limit
		if m := points.FindStringSubmatch(c.unread); m != nil {
			q.limit, _ = strconv.ParseFloat(m[1], 64)
		}
		c.remove(fluctuating)
	}
	c.sign = signed.FindString(c.unread)
	c.remove(signed)
	c.compound, c.sum = c.remove(compoundGrowth), c.remove(sumWord)
	c.growth, c.average, c.move = c.remove(growth), c.remove(averages), c.remove(moveWord)
	c.up, c.down = c.remove(upWord), c.remove(downWord)
	c.most, c.least = highestWord.MatchString(c.unread), lowestWord.MatchString(c.unread)
	c.healthy, c.paid = c.remove(healthy), c.remove(anyPaid)
	return c
}

// understand sets the operation and the measures from text, the question without its periods. lead are the words before
// it. It takes all words that it knows out of the text, and returns false if words other than filler are left.
func (q *Calculation) understand(text, lead string) bool {
	if threeWays.MatchString(lead + text) {
		return q.readExtreme(text)
	}
	asksPeriod := whichYear.MatchString(text)
	text = strings.TrimSpace(whichYear.ReplaceAllString(text, ""))
	if q.exceeds(text) {
		return true
	}
	unread, ok := q.readMeasures(text)
	if !ok {
		return false
	}
	c := q.takeClues(text, unread, asksPeriod)
	return q.setOp(c) && onlyFiller(c.unread)
}

// setOp sets the operation and its direction from the clues. It tries the operations in a fixed order and takes the
// first one whose clues are there. setOp returns false if the question asks for a period or for a yes or no, but is
// of no known kind.
func (q *Calculation) setOp(c *clues) bool {
	first, moves := &q.measures[0], c.up || c.down
	switch {
	case c.up && !c.down:
		q.direction = 1
	case c.down && !c.up:
		q.direction = -1
	}
	q.asksDirection = c.up && c.down
	always := c.everyYear || c.steady && moves || moves && c.isYesNo && q.Years > 2
	switch {
	case c.asksPeriod && c.most != c.least && len(q.measures) == 1:
		q.Op, q.direction = Peak, 1
		if c.least {
			q.direction = -1
		}
		c.remove(highestWord)
		c.remove(lowestWord)
	case c.asksPeriod:
		return false
	case always && c.isYesNo && q.direction != 0:
		q.Op = Always
	case c.steady && c.isYesNo:
		q.Op = Consistent
	case c.limit != nil:
		q.readThreshold(c.limit)
	case c.isYesNo && c.sign != "":
		q.Op, q.direction = Sign, 1
		if strings.EqualFold(c.sign, "negative") {
			q.direction = -1
		}
	case c.isYesNo && (moves || c.move):
		q.Op = Moved
	case c.isYesNo && (c.healthy || first.key == "capex_to_revenue") && metrics.Good(first.key) != "":
		q.Op = Good
	case c.isYesNo && (c.paid && metrics.Spent(first.key) || first.key == "dividends_per_share"):
		q.Op = Paid
	case c.isYesNo:
		return false
	case c.history:
		q.Op = Trend
	case c.compound:
		q.Op = Annual
	case c.average:
		q.Op = Average
	case c.sum:
		q.Op = Sum
	case c.growth, (c.move || moves) && q.percent && first.unit != "%":
		q.Op = Growth
	case c.move || moves:
		q.Op = Change
	default:
		q.Op = Value
	}
	return true
}
