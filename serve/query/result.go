package query

import (
	"cmp"
	"strings"
	"time"

	"example.com/larder/reader"
)

// A Hit is a chunk that answers, in the shape of the contract.
type Hit struct {
	ChunkID         string   `json:"chunk_id"`
	Content         string   `json:"content"`
	DocumentID      string   `json:"document_id"`
	Title           string   `json:"title"` // the file's name where the document has none
	ContentType     string   `json:"content_type"`
	SimilarityScore *float64 `json:"similarity_score"` // the cosine; null in keyword bases
	Metadata        Metadata `json:"metadata"`
}

// Metadata say where in its document a hit is. What is not known is null.
type Metadata struct {
	Page        *int    `json:"page"`         // the first of its pages, from 1
	Section     *string `json:"section"`      // the heading above it
	HeadingPath *string `json:"heading_path"` // all headings above it, joined by " > "
}

// A Result is what a search found.
type Result struct {
	Hits       []Hit // best first; never nil
	Scope      int   // chunks that the filters let through
	Connection string
	Space      string // "" for all
	Elapsed    time.Duration
	Message    string   // what to try, if there are no hits
	Warnings   []string // such as that the end of the question was left out
	Explain    *Explain // if it was asked for
}

// Explain says how a result came about.
type Explain struct {
	Fusion string         `json:"fusion"`
	Note   string         `json:"note,omitempty"` // of several models
	Spaces []SpaceExplain `json:"spaces"`
	Hits   []HitExplain   `json:"hits"` // in the order of the hits
}

// A SpaceExplain says how one space was searched.
type SpaceExplain struct {
	Connection string   `json:"connection"`
	Space      string   `json:"space"`
	Version    string   `json:"version"`
	Model      string   `json:"model"` // "" in keyword bases
	Mode       string   `json:"mode"`
	Scope      int      `json:"scope"`
	Meaning    int      `json:"meaning"` // candidates
	Keyword    int      `json:"keyword"`
	Scan       string   `json:"scan"` // how meaning was searched: exact, or by an approximate index; "" in keyword bases
	Terms      []string `json:"terms"`
	Cut        bool     `json:"cut"` // the end of the question was left out
}

// A HitExplain says why a hit was found, and is where it is.
type HitExplain struct {
	ChunkID     string   `json:"chunk_id"`
	Connection  string   `json:"connection"`
	Space       string   `json:"space"`
	Path        string   `json:"path"`
	Score       float64  `json:"score"` // RRF × boost, by which hits are ordered
	Boost       float64  `json:"boost"`
	MeaningRank int      `json:"meaning_rank"` // from 1; 0 if meaning did not find it
	KeywordRank int      `json:"keyword_rank"`
	Cosine      *float64 `json:"cosine"`
	BM25        float64  `json:"bm25"`
	Terms       []string `json:"terms"` // of the question, that its text has
	Why         string   `json:"why"`
}

func newHit(h reader.Hit, cosine *float64) Hit {
	hit := Hit{
		ChunkID: h.ChunkID, Content: h.Text, DocumentID: h.DocumentID, Title: cmp.Or(h.Title, h.Source),
		ContentType: contentType(h.ContentType), SimilarityScore: cosine,
	}
	if h.FirstPage > 0 {
		hit.Metadata.Page = &h.FirstPage
	}
	if h.HeadingPath != "" {
		section := h.HeadingPath
		if i := strings.LastIndex(section, " > "); i >= 0 {
			section = section[i+len(" > "):]
		}
		hit.Metadata.Section, hit.Metadata.HeadingPath = &section, &h.HeadingPath
	}
	return hit
}
