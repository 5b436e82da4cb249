package pipeline

// Settings are a base's settings: base.yaml over the defaults.
type Settings struct {
	Name         string   // [a-z0-9][a-z0-9_-]{0,62}, not "models"; default: the folder's name
	Mode         string   // meaning, keyword or hybrid (default)
	ChunkSize    int      // WordPiece tokens, 1 to 2048; default 90
	ChunkOverlap int      // 0 to ChunkSize; default 20
	TopK         int      // 1 to 20; default 3
	MinScore     float64  // 0 to 1; 0 in keyword mode; default 0
	Model        string   // a model in models.lock; default all-MiniLM-L6-v2
	Embedder     string   // onnx (default) or native
	Languages    []string // stemmers, at most one a script; default en and ru
	PDFEngine    string   // pdfium (default) or ledongthuc
	Serial       uint64   // set by hand; default 0
	Boosts       map[string]float64
	Skip         []string // globs of documents that may fail
	Metadata     []MetadataRule
}

// A MetadataRule gives metadata to the documents whose path matches Files. Later rules win over
// earlier ones, front matter wins over rules.
type MetadataRule struct {
	Files string // glob; ** crosses folders
	Meta  Meta   // empty fields say nothing
}
