package kernel

import "time"

// Kind is the kind of a document.
type Kind string

// The kinds of documents.
const (
	Filing     Kind = "filing"     // a report of an issuer to an authority, such as an annual report (form 10-K)
	News       Kind = "news"       // a news item
	Transcript Kind = "transcript" // what was said in a call, such as a call about quarterly results
	Tabular    Kind = "table"      // data without sentences: a CSV file, a workbook, company facts of the SEC
	Web        Kind = "web"        // a page that web search has found; it is not stored
)

// Kinds lists all kinds.
var Kinds = []Kind{Filing, News, Transcript, Tabular, Web}

// Issuer is a company, a fund or a state that has issued securities.
type Issuer struct {
	ID       int64
	Name     string // the name in its documents, "Wexlermere Inc."
	Ticker   string // empty if unknown, as are the two below
	Exchange string
	CIK      string // its number at the SEC, without leading zeros
}

// Document is a document of the corpus, such as the annual report of an issuer for fiscal 2019. It is stored as chunks,
// which are found as passages.
type Document struct {
	ID     int64
	Kind   Kind
	Form   string // such as 10-K; empty if unknown
	Issuer int64  // the id of the issuer that it is about; 0 if it is about none or about several
	// Period is the period that the document reports on, or zero if there is no such period.
	Period    Period
	Published time.Time // zero if unknown
	Title     string
	// URL is the document's address: http, https, or corpus:ID for a document without a public address.
	URL    string
	Lang   string // such as en; empty if unknown
	SHA256 string // of the ingested document, in hexadecimal
	Chunks int    // the number of its passages
}

// Passage is a part of a document, or of a page that a provider of web search has found: some paragraphs, or a table
// with the paragraph above it, of about 350 to 500 tokens. It is what a search finds, what a model reads and what a
// sentence of an answer refers to.
type Passage struct {
	// ID is the id of the passage in the corpus, or 0 for a passage from the web.
	ID       int64
	Document int64
	// Seq is the position of the passage among the passages of its document, from 0.
	Seq   int
	Title string // the title of its document
	URL   string
	Kind  Kind
	// Section holds the headings above the passage, outermost first, joined by " > ".
	Section string
	Page    int // from 1; 0 if the document has no pages
	// Text is Markdown. The lines of tables begin and end with "|".
	Text string
	// Table reports that the passage contains a table.
	Table     bool
	Tokens    int    // an estimate for its text
	Issuer    int64  // of its document; 0 if unknown
	Period    Period // of its document
	Published time.Time
	// Score is greater for a better match. Scores can be compared only within one result of a retriever.
	Score float64
}

// Metric is a quantity that many reports state, such as revenue or total assets. Package metrics has the list of all
// metrics and of the names that reports and people use for them.
type Metric struct {
	// Key identifies the metric in facts, "net_income". It consists of lower case letters, digits and "_".
	Key  string
	Name string // the name in a sentence, "net income"
	// Statement is the part of a report that states the metric.
	Statement Statement
	// Ratio reports that the metric is a share or a multiple, such as the gross margin, not an amount.
	Ratio bool
	// Instant reports that the metric is measured on a day, such as total assets, not over a period, such as revenue.
	Instant bool
}

// Statement is a part of a report, such as the income statement. It is empty if the part is unknown.
type Statement string

// The parts of a report to which questions may refer.
const (
	Income        Statement = "income"
	Comprehensive Statement = "comprehensive"
	Balance       Statement = "balance"
	CashFlow      Statement = "cash_flow"
	Equity        Statement = "equity"
	Segments      Statement = "segments"
	Notes         Statement = "notes"
	Discussion    Statement = "discussion" // the management's discussion
	Risks         Statement = "risks"
	Business      Statement = "business"
)

// Statements lists the parts of a report in their usual order. Stored vectors have the indexes of this list (see
// metrics.TopicOf), so the order must not change.
var Statements = []Statement{
	Income, Comprehensive, Balance, CashFlow, Equity, Segments, Notes, Discussion, Risks, Business,
}

// IsPrimary reports whether s is one of the three statements that every annual report has: the income statement, the
// balance sheet and the statement of cash flows.
func (s Statement) IsPrimary() bool { return s == Income || s == Balance || s == CashFlow }

// Figure is a number with its unit, scale and precision, as a document prints it. "$1,577 million" has the Value
// 1577000000, the Step 1000000, the Unit Money and the Currency USD. "12.5%" has the Value 12.5, the Step 0.1 and the
// Unit Percent.
type Figure struct {
	Text string // the figure in the document's notation, "$1,577 million"
	// Value is in single units: 1577000000. A share of 12.5 per cent is 12.5 with the unit Percent, 30 basis
	// points are 30 with BasisPoints.
	Value float64
	// Step is the precision: one unit of the last digit shown, in the units of Value. For "$1,577 million" it is
	// 1000000. It is 0 for a dash, which means zero and has no digit.
	Step     float64
	Unit     Unit
	Currency string // ISO 4217; empty if none is named
}

// Unit is the unit of a figure.
type Unit string

// Units of figures. Other units, such as "employees", are the words themselves.
const (
	NoUnit      Unit = ""
	Money       Unit = "money" // with or without a known Currency
	Percent     Unit = "%"
	Points      Unit = "pp" // percentage points, the difference of two shares
	BasisPoints Unit = "bp"
	Times       Unit = "x"
	Shares      Unit = "shares"
	PerShare    Unit = "per_share"
)

// Fact is a figure of an issuer that a document reports: the revenue of Wexlermere Inc. in fiscal 2019 was $1,577
// million. Several documents may state the same fact, also with different figures.
type Fact struct {
	Issuer int64
	// Metric is the key of a Metric.
	Metric string
	// Label is the name that the document uses, such as "Total net revenue" for the metric "revenue".
	Label    string
	Period   Period
	Figure   Figure
	Document int64
	// Statement is the part of the report that states the fact. It is empty for other tables and for data.
	Statement Statement
	// Sure is the estimated certainty, in per cent, that the fact was read correctly.
	Sure int
	// Report is the period of the fact's document.
	Report Period
	// Passage is the id of the passage that contains the fact, or 0 if the document consists of facts alone.
	Passage int64
}

// Filters restrict the passages that a retriever considers. An empty list does not restrict.
type Filters struct {
	Issuers []int64
	Periods []Period
}
