// Package question reads a question by rules. It normalises, filters and classifies the question, finds its issuers,
// periods and metrics, detects questions for a screener, and divides questions that need several passages. The rules
// are deterministic and report whether they are certain. If they are not certain, and a model is configured, one call
// of the model decides.
//
// The issuers, periods and metrics of a question are those that it names. The body is the question without the names of
// issuers, and the core the question without a preamble such as "As an analyst, …". A verdict says whether the question
// is answered. Each class of classes.txt has the words that indicate one subject or intention; the words of a question
// in a form for this comparison are its reading. A sub-query is a part of a question that stands alone.
//
// Choices where the specification is silent:
//   - A question that names an issuer of the corpus is about investments unless it wants something else
//     entirely, such as a poem about the issuer.
//   - A question is about investments unless its words are about something else: an unknown name may be an
//     issuer.
//   - "Last year" is the calendar year before today. "Latest" names no period, so that the latest period of the
//     corpus is used.
package question
