// Package corpus stores the material for answers: documents, the chunks that they are divided into, their issuers,
// facts and prices. It ingests the documents that package fileformat reads, writes each in one transaction, and reports
// the contents of the corpus.
//
// A document comes as a fileformat.Source and passes these stages: check and digest (checked), division into chunks
// with their vectors of terms and extraction of facts (prepared), and writing (writer). A block is a paragraph, a
// heading or a table, and a chunk is some blocks of one page; outside this package a stored chunk is called a passage.
// A copy is a further URL of a stored document. The version of the corpus grows with each change, so that others can
// tell whether what they have cached is still valid. Unlike the vectors of terms, embedding vectors are made by a model
// after the document is stored.
//
// Choices where the specification is silent:
//   - The same document under another URL is a duplicate and is skipped. It is deleted when none of its URLs has it
//     any more. A document that differs only in its title is a new version.
//   - A chunk does not cross the end of a page, so that a citation names one page.
//   - Issuers are distinguished by CIK, then by ticker, then by name.
package corpus
