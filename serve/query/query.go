// Package query answers questions from connections: shelves of artifacts, and databases. It is what the HTTP interface,
// the command line and the tool knowledge_query have in common.
//
// A question goes to one or several spaces, each a base with a model of its own. Every space ranks its chunks by meaning and by
// keyword; the rankings are fused by reciprocal ranks, and the scores multiplied by the boosts of content types.
package query

import (
	"context"
	"errors"

	"example.com/larder/artifact"
	"example.com/larder/reader"
)

// A Connection is where bases are.
type Connection interface {
	// Slug names the connection, as [artifact.CheckBaseName] allows.
	Slug() string
	// Kind is "shelf" or "postgres".
	Kind() string
	// Spaces lists the bases, sorted by name. An error says why the connection can't be used now; its text is shown to
	// callers and holds no secret.
	Spaces(ctx context.Context) ([]Space, error)
}

// A Space is a base in a connection.
type Space interface {
	Name() string
	// State tells how the space is. It doesn't wait for a base that is being opened.
	State(ctx context.Context) State
	// Open pins the version that answers now. An error is [ErrUnavailable] to errors.Is.
	Open(ctx context.Context) (View, error)
}

// A Status says whether something can be searched.
type Status string

// The statuses of connections and spaces.
const (
	Ready   Status = "ready"
	Loading Status = "loading"
	Failed  Status = "error"
)

// A State is how a space is.
type State struct {
	Status    Status
	Reason    string // of Failed; without secrets
	Version   string // the digest, 64 digits; "" if it is not known
	Model     string // "" in keyword bases
	Documents int
	Chunks    int
}

// A View is one version of a space, for as long as it is open. It is safe for concurrent use.
type View interface {
	Manifest() *artifact.Manifest
	Version() string // the digest
	// Sides ranks the chunks for a question, as [reader.Base.Sides] does.
	Sides(ctx context.Context, text string, filters reader.Filters) (*reader.Sides, error)
	// Hits are the texts and places of chunks, in their order.
	Hits(ctx context.Context, chunks []int) ([]reader.Hit, error)
	// Document returns what the version holds of a document; [fs.ErrNotExist] if it has none by that id.
	Document(ctx context.Context, id artifact.ID) (*Document, error)
	Close()
}

// ErrUnavailable says that a space can't be searched now.
var ErrUnavailable = errors.New("not available now")

// A Document is a whole document of a space.
type Document struct {
	DocumentID  string   `json:"document_id"`
	Connection  string   `json:"connection"`
	Space       string   `json:"space"`
	Version     string   `json:"version"` // of the base: 64 digits
	Path        string   `json:"path"`    // below the base's folder
	Title       string   `json:"title"`
	ContentType string   `json:"content_type"`
	UnitID      string   `json:"unit_id"` // "", as all that follow, if it is not known
	Date        string   `json:"date"`    // YYYY-MM-DD
	Author      string   `json:"author"`
	Language    string   `json:"language"` // BCP 47
	Topics      []string `json:"topics"`
	Pages       int      `json:"pages"` // 0 for formats without pages
	Text        string   `json:"text"`
}

// NewDocument is a document of an artifact with its text.
func NewDocument(d artifact.DocumentInfo, text string) *Document {
	topics := d.Topics
	if topics == nil {
		topics = []string{}
	}
	return &Document{
		DocumentID: d.ID.String(), Path: d.Path, Title: d.Title, ContentType: contentType(d.ContentType), UnitID: d.UnitID,
		Date: d.Date, Author: d.Author, Language: d.Language, Topics: topics, Pages: d.Pages, Text: text,
	}
}

func contentType(of string) string {
	if of == "" {
		return artifact.DefaultContentType
	}
	return of
}
