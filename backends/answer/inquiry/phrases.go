package inquiry

import "regexp"

// phrase is a way of asking that names no measure, with the words that name the measure it means.
type phrase struct {
	said  *regexp.Regexp
	means string
}

func meaning(said, means string) phrase {
	return phrase{regexp.MustCompile(`(?i)\b(?:` + said + `)\b`), means}
}

// phrases are everyday ways of asking.
var phrases = []phrase{
	meaning(`profitable|profit-making`, "net income positive"),
	meaning(`loss-making|unprofitable`, "net income negative"),
	meaning(`(?:report|make|made|post|incur|suffer|record)\w* an? (?:net |annual |quarterly )?loss`,
		"net income negative"),
	meaning(`(?:report|make|made|post|record)\w* an? (?:net |annual |quarterly )?profit`, "net income positive"),
	meaning(`(?:earn|earned|made|make) per diluted share`, "diluted earnings per share"),
	meaning(`(?:earn|earned|made|make) per (?:basic )?share`, "earnings per share"),
	meaning(`(?:buy|bought|buying)(?: back| in)? (?:any |some )?(?:of )?(?:its |their )?(?:own |common |outstanding )?(?:shares|stock)(?: back)?|repurchase[ds]? (?:any |some )?(?:of )?(?:its |their )?(?:own |common |outstanding )?(?:shares|stock)`, "pay for share repurchases"),
	meaning(`dividend (?:distributions?|payments?)`, "dividends per share"),
	meaning(`how many days (?:worth )?of inventor(?:y|ies)`, "what is days inventory outstanding"),
	meaning(`how many times .{0,60}\b(?:sold|sell|turned|turn|replaced?) .{0,30}\binventor(?:y|ies)`,
		"what is inventory turnover"),
	meaning(`how (?:many days|long) .{0,60}\b(?:sell|hold|turn over|clear) .{0,30}\binventor(?:y|ies)`,
		"what is days inventory outstanding"),
	meaning(`how (?:many days|long) .{0,60}\bcollect .{0,40}(?:receivables?|payments?|customers)`,
		"what is days sales outstanding"),
	meaning(`how (?:many days|long) .{0,60}\bpay .{0,30}(?:suppliers?|payables?|vendors)`,
		"what is days payable outstanding"),
	{regexp.MustCompile(`(?i)\bwhat (?:percentage|percent|share|portion|proportion|fraction)(?: of)? (?:its |their |the |total |all )*(.{2,60}?) (?:was|is|were|are|did|does|do|has|have|came from|comes from|made up|makes up|goes to|went to)\s+(?:made up of |spent on |in )?(.{2,60}?)([?.]|$| in | for | at | as of | during )`), "what is $2 as a percentage of $1$3"},
}

// inPlainWords replaces such phrases by the measures that they mean.
func inPlainWords(text string) string {
	for _, p := range phrases {
		text = p.said.ReplaceAllString(text, p.means)
	}
	return text
}
