package tools

import (
	"context"
	"encoding/json"
	"io/fs"
	"net/url"

	"github.com/google/jsonschema-go/jsonschema"
)

// Files is a tree of files, as an agent sees it through [FileTools].
//
// Paths in arguments and answers are relative to its root, with slashes. Nothing outside of FS is ever asked for. Names
// that begin with a dot are neither shown nor read: they are for programs (.git, .env, .obsidian), and often hold what
// no model should see. A link shows as what it leads to, if that is inside; no walk enters a folder through a link,
// since it meets that folder at its own place.
type Files struct {
	// FS holds the files: a [Folder], or the originals in an artifact. Folders that it opens are fs.ReadDirFile.
	FS fs.FS
	// FullPath gives the full_path of a file that was read: [Folder.FullPath] where the caller is on this machine, and
	// [URI] everywhere else.
	FullPath func(path string) string
	// Budget is about how many bytes of text an answer holds, 1 MiB if it is 0. What does not fit is left out, and the
	// answer says so.
	Budget int
}

// URI returns a FullPath that tells nothing of this machine: larder://base/path, where base is a base's name, or its
// name, an @ and a version's digest.
func URI(base string) func(path string) string {
	return func(path string) string {
		return "larder://" + base + (&url.URL{Path: "/" + path}).EscapedPath()
	}
}

// Limits that hold whatever the budget is.
const (
	defaultBudget = 1 << 20
	maxPaths      = 100       // of one call of kb_read_file
	maxRead       = 256 << 10 // bytes of a file in kb_read_file
	maxSearched   = 16 << 20  // bytes of a file in kb_search_content
	maxVisited    = 1_000_000 // files and folders that one call walks over
	maxSiblings   = 100_000   // names that are compared by normal form, for each folder of a path
	maxProblems   = 20        // of one call, except kb_read_file's, which has one for each path
	maxMatches    = 5         // of one file in kb_search_content
	maxLine       = 500       // bytes of a line in kb_search_content
	leastLine     = 40        // likewise, however small the budget
	maxExtensions = 100       // in kb_get_stats
)

func (f Files) budget(ctx context.Context) int {
	if f.Budget > 0 {
		return budgetOf(ctx, f.Budget)
	}
	return budgetOf(ctx, defaultBudget)
}

// A problem is a path that could not be answered for, and why.
type problem struct {
	Path  string `json:"path"`
	Error string `json:"error"`
}

// An omission says what an answer lacks. Its fields are absent in an answer that is whole.
type omission struct {
	Truncated        bool      `json:"truncated,omitempty" jsonschema:"the answer is cut: there is more than it shows"`
	TotalFiles       int       `json:"total_files,omitempty" jsonschema:"how many files there are, if not all are shown"`
	TotalDirectories int       `json:"total_directories,omitempty" jsonschema:"how many folders there are, if not all are shown"`
	LeftOut          int       `json:"left_out,omitempty" jsonschema:"how many entries can't be asked for: neither file nor folder, links that lead nowhere or outside, names that are no UTF-8"`
	Errors           []problem `json:"errors,omitempty" jsonschema:"what could not be read, and why"`
}

// FileTools is the part of the table that reads files. To add a tool, add an entry: a name, a description in both
// languages, and a function from its arguments to its answer. The schemas are made of their types, MCP, HTTP and the
// command line list whatever is in the table, and the test of the table checks the new entry with the rest. kb_get_stats
// was added so: its entry here, and its function in stats.go.
func FileTools(f Files) []Tool {
	return []Tool{
		Define("kb_read_file", Text{
			EN: "Read one or more files of the knowledge base. An error in one path does not affect the others.",
			RU: "Читает один или несколько файлов из базы знаний. Ошибка в одном пути не мешает остальным.",
		}, f.readFiles, func(in *jsonschema.Schema) {
			paths := in.Properties["paths"]
			paths.Types, paths.Type = nil, "array"
			paths.MinItems = jsonschema.Ptr(1)
		}),
		Define("kb_list_directory", Text{
			EN: "List the files and folders in a folder of the knowledge base.",
			RU: "Перечисляет файлы и папки в указанной папке базы знаний.",
		}, f.listDirectory, func(in *jsonschema.Schema) {
			in.Properties["recursive"].Default = json.RawMessage("false")
		}),
		Define("kb_search_files", Text{
			EN: "Find files and folders of the knowledge base by name or glob pattern, for instance *.md, ai/**/*.md or *neural*.",
			RU: "Ищет файлы и папки базы знаний по названию или glob-шаблону, например *.md, ai/**/*.md или *neural*.",
		}, f.searchFiles, func(in *jsonschema.Schema) {
			in.Properties["pattern"].MinLength = jsonschema.Ptr(1)
			in.Properties["case_sensitive"].Default = json.RawMessage("false")
		}),
		Define("kb_search_content", Text{
			EN: "Find a text inside the files of the knowledge base. Returns line numbers with context, at most 5 matches a file.",
			RU: "Ищет текст внутри файлов базы знаний. Возвращает номера строк с контекстом, не более 5 совпадений на файл.",
		}, f.searchContent, func(in *jsonschema.Schema) {
			in.Properties["query"].MinLength = jsonschema.Ptr(1)
			in.Properties["case_sensitive"].Default = json.RawMessage("false")
			in.Properties["file_pattern"].Default = json.RawMessage(`"*.md"`)
			in.Properties["file_pattern"].MinLength = jsonschema.Ptr(1)
		}),
		Define("kb_get_stats", Text{
			EN: "Count the files, folders and bytes of the knowledge base, also by file extension.",
			RU: "Считает файлы, папки и байты базы знаний, в том числе по расширениям файлов.",
		}, f.stats, nil),
	}
}
