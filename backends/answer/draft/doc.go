// Package draft writes answers. Each sentence refers to the passages that support it by marks, such as "[P3]". Without
// a model it states values by templates and quotes sentences of the passages, which is deterministic (extractive). For
// a model it writes a prompt with the passages as fenced data, between <passage> and </passage>, and parses the reply.
//
// A quote is a sentence of a passage that may answer the question. The cover of a quote is the share of the question's
// words that occur in the quote or in the text above it. A word weighs more if it occurs in few quotes. A question may
// be of one or more kinds; questions with "why", for example, are a kind. A quote that does not fit a kind of the
// question loses score or is left out. The criteria of a question are its words, kinds, years and direction.
//
// Choices where the specification is silent:
//   - An extractive answer of text has at most two sentences, in the words of their document.
//   - Sentences of documents that contain an address, or that speak to a model, are never quoted.
package draft
