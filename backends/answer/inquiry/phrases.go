package inquiry

import "regexp"

// phrase is an everyday wording that names no measure, with its replacement, which names the measure.
type phrase struct {
	pattern     *regexp.Regexp
	replacement string
}

// phraseOf returns the phrase for whole words that match pattern, a regular expression that ignores case.
func phraseOf(pattern, replacement string) phrase {
	return phrase{regexp.MustCompile(`(?i)\b(?:` + pattern + `)\b`), replacement}
}

// phrases lists the everyday wordings, in the order in which they are replaced.
var phrases = []phrase{
	phraseOf(`profitable|profit-making`, "net income positive"),
	phraseOf(`loss-making|unprofitable`, "net income negative"),
	phraseOf(`(?:report|make|made|post|incur|suffer|record)\w* an? (?:net |annual |quarterly )?loss`,
		"net income negative"),
	phraseOf(`(?:report|make|made|post|record)\w* an? (?:net |annual |quarterly )?profit`, "net income positive"),
	phraseOf(`(?:earn|earned|made|make) per diluted share`, "diluted earnings per share"),
	phraseOf(`(?:earn|earned|made|make) per (?:basic )?share`, "earnings per share"),
	phraseOf(`(?:buy|bought|buying)(?: back| in)? (?:any |some )?(?:of )?(?:its |their )?(?:own |common |outstanding )?(?:shares|stock)(?: back)?|repurchase[ds]? (?:any |some )?(?:of )?(?:its |their )?(?:own |common |outstanding )?(?:shares|stock)`, "pay for share repurchases"),
	phraseOf(`dividend (?:distributions?|payments?)`, "dividends per share"),
	phraseOf(`how many days (?:worth )?of inventor(?:y|ies)`, "what is days inventory outstanding"),
	phraseOf(`how many times .{0,60}\b(?:sold|sell|turned|turn|replaced?) .{0,30}\binventor(?:y|ies)`,
		"what is inventory turnover"),
	phraseOf(`how (?:many days|long) .{0,60}\b(?:sell|hold|turn over|clear) .{0,30}\binventor(?:y|ies)`,
		"what is days inventory outstanding"),
	phraseOf(`how (?:many days|long) .{0,60}\bcollect .{0,40}(?:receivables?|payments?|customers)`,
		"what is days sales outstanding"),
	phraseOf(`how (?:many days|long) .{0,60}\bpay .{0,30}(?:suppliers?|payables?|vendors)`,
		"what is days payable outstanding"),
	{regexp.MustCompile(`(?i)\bwhat (?:percentage|percent|share|portion|proportion|fraction)(?: of)? (?:its |their |the |total |all )*(.{2,60}?) (?:was|is|were|are|did|does|do|has|have|came from|comes from|made up|makes up|goes to|went to)\s+(?:made up of |spent on |in )?(.{2,60}?)([?.]|$| in | for | at | as of | during )`), "what is $2 as a percentage of $1$3"},
}

// replacePhrases replaces everyday wordings in a text by names of measures.
func replacePhrases(text string) string {
	for _, p := range phrases {
		text = p.pattern.ReplaceAllString(text, p.replacement)
	}
	return text
}
