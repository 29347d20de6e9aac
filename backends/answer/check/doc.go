// Package check decides whether a draft may be sent. Every sentence must be supported by passages that were found: its
// numbers must be in them or be computed, and the passages must be about the issuer and the period of the sentence. A
// sentence refers to its passages by marks, such as "[P3]"; these passages are its marked passages. Sentences that fail
// are removed; the remaining draft is judged by a model or by rules.
//
// A sentence is computed if package formula or inquiry has computed its figures, and fixed if it is the service's own
// line, such as the remark that nothing is advice. A sentence is grounded if enough of its words are in its marked
// passages. A problem is the reason why a sentence, or the whole draft, fails; scores are the judgment of the draft.
//
// Choices where the specification is silent:
//   - Every sentence needs a mark, whether or not it names an issuer. Only the service's own lines have none.
//   - Half of a sentence's words must be in its marked passages. If the sentence has a figure, words of the
//     question and names of issuers count too. A judge that is a model can be fooled; a count of words cannot.
//   - A denial in a sentence, such as "not acquired", must be in a marked passage too.
//   - A sentence with an address is removed, whoever wrote it.
//   - A quarter or half of a year is looked up in the same way as a year.
//   - A loss may be written without its sign, but not in a sentence that states a gain.
//   - A number up to ten that is spelled out and is not a percentage is not looked up. A name with digits in it
//     (10-K, A320) must occur unchanged in a marked passage or in the question.
package check
