// Package retrieve finds the passages from which a question is answered.
//
// Filters come first, because near-identical reports of other issuers and years mislead most. The passages that pass
// the filters are ranked in several lists, which are merged by reciprocal rank. One list ranks them by their words
// (BM25 over the parts of a passage). Another ranks them by the names of tables, rows and columns together with the
// facts in them. Web pages and dense vectors are further lists, if they are configured.
//
// All passages of the named issuers that pass the filters are scored by their vectors of terms. The weight of a word is
// its rarity among these passages. The full-text index proposes passages if no issuer is named, or if there are too
// many passages to score all.
//
// A candidate is a passage that may become part of the result. Its lexical score says how well its words match the
// question. A ranking is a list of candidates, the best first. A dense vector is the embedding vector of a text, whose
// angle to another one shows how similar the meanings are, in contrast to the vector of terms (terms.Vector).
package retrieve
