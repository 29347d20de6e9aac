package kernel

import "time"

// Kind is what a document is.
type Kind string

// The kinds of documents.
const (
	Filing     Kind = "filing"
	News       Kind = "news"
	Transcript Kind = "transcript"
	Tabular    Kind = "table"
	Web        Kind = "web"
)

// Kinds are all of them.
var Kinds = []Kind{Filing, News, Transcript, Tabular, Web}

// Issuer is a company, a fund or a state whose securities people hold.
type Issuer struct {
	ID       int64
	Name     string // as its documents write it, "Wexlermere Inc."
	Ticker   string // empty: none is known, as for the two below
	Exchange string
	CIK      string // its number at the SEC, without zeros in front
}

// Document is one that was taken in.
type Document struct {
	ID     int64
	Kind   Kind
	Form   string // such as 10-K; empty: unknown
	Issuer int64  // 0: it is about none, or about many
	// Period is the one that it reports on; zero: none.
	Period    Period
	Published time.Time // zero: unknown
	Title     string
	// URL is where it stands: http, https, or corpus:ID for those that have no public
	// address.
	URL    string
	Lang   string // such as en; empty: unknown
	SHA256 string // of what was taken in, in hexadecimal
	Chunks int
}

// Passage is a part of a document that was found, or of a page that a provider of web
// search has found.
type Passage struct {
	// ID is that of the chunk in the corpus; 0: it is not of the corpus.
	ID       int64
	Document int64
	// Seq is its place among the passages of its document, from 0.
	Seq   int
	Title string // of its document
	URL   string
	Kind  Kind
	// Section is the headings above it, outermost first, with " > " between.
	Section string
	Page    int // from 1; 0: the document has no pages
	// Text is Markdown; a table in it has lines that begin and end with "|".
	Text string
	// Table tells that a table is in it.
	Table     bool
	Tokens    int // of its text, estimated
	Issuer    int64
	Period    Period // of its document
	Published time.Time
	// Score is greater for what fits better; it compares within one answer of a
	// retriever alone.
	Score float64
}

// Metric is something that is measured, such as revenue.
type Metric struct {
	// Key names it in the facts: lower case letters, digits and "_".
	Key  string
	Name string // "total revenue", as a sentence writes it
	// Statement is where it is reported.
	Statement Statement
	// Ratio tells that it is a share or a multiple, not an amount.
	Ratio bool
	// Instant tells that it is as of a day, not over a time.
	Instant bool
}

// Statement is a part of a report.
type Statement string

// The parts of a report that questions lead to.
const (
	Income        Statement = "income"
	Comprehensive Statement = "comprehensive"
	Balance       Statement = "balance"
	CashFlow      Statement = "cash_flow"
	Equity        Statement = "equity"
	Segments      Statement = "segments"
	Notes         Statement = "notes"
	Discussion    Statement = "discussion" // of the management
	Risks         Statement = "risks"
	Business      Statement = "business"
)

// Figure is a number with what it counts.
type Figure struct {
	Text string // as it was written, "$1,577 million"
	// Value is in single units: 1577000000. A share of 12.5 per cent is 12.5 with Unit
	// Percent; one of 30 basis points is 30 with BasisPoints.
	Value float64
	// Step is one unit of the last digit shown, in the units of Value: 1000000.
	Step     float64
	Unit     Unit
	Currency string // ISO 4217; empty: none is named
}

// Unit is what a figure counts.
type Unit string

// The units of figures; others, such as "employees", are written as they are.
const (
	NoUnit      Unit = ""
	Money       Unit = "money" // with or without a known Currency
	Percent     Unit = "%"
	Points      Unit = "pp" // of per cent: how far two shares are apart
	BasisPoints Unit = "bp"
	Times       Unit = "x"
	Shares      Unit = "shares"
	PerShare    Unit = "per_share"
)

// Fact is a figure of an issuer that a document reports.
type Fact struct {
	Issuer int64
	// Metric is the key of one.
	Metric string
	// Label is how the document names it.
	Label    string
	Period   Period
	Figure   Figure
	Document int64
	// Statement is where it is stated; empty: in another table, or in data.
	Statement Statement
	// Sure is how certain it is, in per cent.
	Sure int
	// Report is the period of its document.
	Report Period
	// Passage is where it stands; 0: the document is nothing but facts.
	Passage int64
}

// Filters are what a retriever may look at. None of a list: all.
type Filters struct {
	Issuers []int64
	Periods []Period
	Kinds   []Kind
}
