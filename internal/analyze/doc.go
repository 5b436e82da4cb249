// Package analyze turns text into the terms that keyword search counts. The bake and the reader share it: a query
// finds what a document says because both went through the same rules. Every rule has its lines in
// testdata/rules.txt, under its number.
//
//  1. Words. A word is a run of letters, marks and digits of any script, with apostrophes between letters. The rest
//     separates words; so does every byte that is not UTF-8. Soft hyphens, zero-width and directional characters,
//     variation selectors, enclosing marks and the Arabic tatweel count as not there. There is no stop list.
//  2. Folding. Terms are lower case. Compatibility variants become what they are variants of: full-width and
//     half-width forms, ligatures, presentation forms, superscripts, mathematical letters, digits of every script
//     (ASCII); ß becomes ss, ς σ. Typographic apostrophes and hyphens become ASCII, and so does full-width
//     punctuation. ё becomes е; the stress on a Cyrillic vowel and the dot above an i are dropped. Other diacritics
//     stay.
//  3. Composition. Terms are in Unicode's normalization form C: canonically equal texts have equal terms, as long as
//     no letter carries more than 16 marks. More are left out.
//  4. Scripts without blanks (Han, kana, Bopomofo, Thai, Lao, Khmer, Myanmar) give every two neighbouring letters,
//     marks included, as a term; a letter alone is one by itself. Hangul gives words.
//  5. Numbers. Digits in groups of three with commas are one number, the commas left out.
//  6. Stemming. A word of letters of one script is stemmed by the language of that script, if the analyzer has one:
//     English for Latin, Russian for Cyrillic. A word with a digit is not.
//  7. Parts. A word in camel case, or of letters and digits, gives itself and then its parts, each stemmed on its own.
//     The s of a plural (IDs) is no part. A word that changes between letters and digits more than 4 times is a hash
//     rather than a name, and has no parts.
//  8. Compounds. Words joined without a blank, by one of . - & or underscores, give the whole as it stands,
//     unstemmed, and then each word; so that a code is found by its whole and by its parts. Three are treated
//     otherwise: letters joined by hyphens alone (well-known) give no whole; two words joined by a hyphen, one of
//     letters and one with a digit (E-4012), also give the two as one word (e4012); single letters joined by dots
//     (U.S.A.) give one term, without dots and without parts.
//  9. Paths and addresses. Compounds joined by up to three of / \ : or by @ or # give the whole, and then each
//     compound by rule 8.
//  10. Signs. ++ and # after a word (C++, C#), and a dot before one that no word or dot stands before (.NET), belong
//     to it: word and sign are a term, and so is the word.
//  11. Limits. A word longer than 64 bytes is cut to its first 64, at a code point, and has no parts. A whole longer
//     than 64 bytes is left out. A compound or path ends after 64 words. So a text has no more than about two terms
//     a byte, and the time is linear in its length.
//
// A query is analyzed like a document; the reader then leaves out its function words, see [Analyzer.FunctionWord]. By
// nDCG@10 this raises questions in whole sentences (a collection of answers to customers by 0.019, Cranfield by 0.011,
// XQuAD in Russian by 0.009 and in German by 0.006) and lowers SciFact and XQuAD in English by 0.002. Case never matters but for parts (rule 7): getuserbyid finds getUserById by
// its whole, get user by id by its parts.
//
// The choices in rules 7 and 8 were measured by nDCG@10 of plain BM25 (k1 1.2, b 0.75). Parts of words with digits
// raise it by 0.012 on SciFact. A whole for hyphenated prose raises SciFact by 0.002 and lowers Cranfield by 0.004 and
// Medline by 0.012; the hyphen left out (nonlinear) raises SciFact by 0.004 and lowers the others by 0.002 and 0.010.
//
// What letters, marks, digits and cases are is read from tables.go, of a fixed version of Unicode: Go's own tables
// change with Go, and terms must not.
package analyze
