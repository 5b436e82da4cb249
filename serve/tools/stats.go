package tools

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"
)

type statsArguments struct{}

type statsAnswer struct {
	Success        bool             `json:"success"`
	FileCount      int              `json:"file_count"`
	DirectoryCount int              `json:"directory_count"`
	TotalSize      int64            `json:"total_size" jsonschema:"bytes of all files"`
	Extensions     []extensionStats `json:"extensions" jsonschema:"by file extension, most files first"`
	omission
}

type extensionStats struct {
	Extension string `json:"extension" jsonschema:"in lower case, with its dot; empty for names without one"`
	FileCount int    `json:"file_count"`
	TotalSize int64  `json:"total_size"`
}

// stats is kb_get_stats.
func (f Files) stats(ctx context.Context, _ statsArguments) (statsAnswer, error) {
	a := statsAnswer{Extensions: []extensionStats{}}
	w, err := f.walk(ctx, ".", true, func(entry) bool { return true })
	if err != nil {
		return a, err
	}
	byName := map[string]*extensionStats{}
	for i, e := range w.files {
		if i%1024 == 0 && ctx.Err() != nil {
			return a, context.Cause(ctx)
		}
		size, err := e.size()
		if err != nil {
			continue // it has vanished
		}
		name := strings.ToLower(path.Ext(e.path))
		s := byName[name]
		if s == nil {
			s = &extensionStats{Extension: name}
			byName[name] = s
		}
		s.FileCount++
		s.TotalSize += size
		a.FileCount++
		a.TotalSize += size
	}
	for _, s := range byName {
		a.Extensions = append(a.Extensions, *s)
	}
	slices.SortFunc(a.Extensions, func(x, y extensionStats) int {
		return cmp.Or(cmp.Compare(y.FileCount, x.FileCount), cmp.Compare(x.Extension, y.Extension))
	})
	a.DirectoryCount = len(w.folders)
	a.Success = w.visited > 0 || w.failed == 0
	a.omission = w.omission()
	if len(a.Extensions) > maxExtensions {
		a.Extensions, a.Truncated = a.Extensions[:maxExtensions], true
	}
	return a, nil
}
