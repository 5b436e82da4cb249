package pipeline

import (
	"strconv"
	"strings"
	"time"

	"unicode/utf8"

	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"golang.org/x/text/language"
)

// What a file says of itself is kept where it looks sane, and is bounded: files say anything there.
const (
	maxPDFWord      = 4096   // bytes of what is looked at
	maxOutline      = 10_000 // entries; an outline with more is broken, or points at itself
	maxOutlineDepth = 32
	maxPageLabel    = 20 // characters
)

// about returns the first message of a file: its number of pages and what it says of itself.
func (f *pdfiumFile) about() pdfMessage {
	text := func(tag string) string {
		v, err := f.in.FPDF_GetMetaText(&requests.FPDF_GetMetaText{Document: f.doc, Tag: tag})
		if err != nil {
			return ""
		}
		return bounded(v.Value)
	}
	m := pdfMessage{Count: f.count, Title: text("Title"), Author: text("Author"), Created: text("CreationDate")}
	if l, err := f.in.FPDFCatalog_GetLanguage(&requests.FPDFCatalog_GetLanguage{Document: f.doc}); err == nil {
		m.Language = bounded(l.Language)
	}
	return m
}

// bounded returns s, or "" if it is too long to be what it is said to be.
func bounded(s string) string {
	if len(s) > maxPDFWord {
		return ""
	}
	return s
}

// label returns what the file calls a page; index counts from 0.
func (f *pdfiumFile) label(index int) string {
	l, err := f.in.FPDF_GetPageLabel(&requests.FPDF_GetPageLabel{Document: f.doc, Page: index})
	if err != nil {
		return ""
	}
	return bounded(l.Label)
}

// outline returns the file's outline, none if it is too long.
func (f *pdfiumFile) outline() []outlineEntry {
	list, seen := []outlineEntry{}, 0
	var walk func(parent *references.FPDF_BOOKMARK, level int) bool
	walk = func(parent *references.FPDF_BOOKMARK, level int) bool {
		first, err := f.in.FPDFBookmark_GetFirstChild(&requests.FPDFBookmark_GetFirstChild{Document: f.doc, Bookmark: parent})
		if err != nil {
			return false
		}
		for at := first.Bookmark; at != nil; {
			if seen++; seen > maxOutline {
				return false
			}
			if e, ok := f.outlineEntry(*at); ok {
				e.Level = level
				list = append(list, e)
			}
			if level < maxOutlineDepth && !walk(at, level+1) {
				return false
			}
			next, err := f.in.FPDFBookmark_GetNextSibling(&requests.FPDFBookmark_GetNextSibling{Document: f.doc, Bookmark: *at})
			if err != nil {
				return false
			}
			at = next.Bookmark
		}
		return true
	}
	if !walk(nil, 1) {
		return nil
	}
	return list
}

// outlineEntry reads an entry, all but its level. One without a page in this file is not ok.
func (f *pdfiumFile) outlineEntry(b references.FPDF_BOOKMARK) (e outlineEntry, ok bool) {
	title, err := f.in.FPDFBookmark_GetTitle(&requests.FPDFBookmark_GetTitle{Bookmark: b})
	if err != nil {
		return e, false
	}
	to, err := f.in.FPDFBookmark_GetDest(&requests.FPDFBookmark_GetDest{Document: f.doc, Bookmark: b})
	if err != nil || to.Dest == nil {
		return e, false
	}
	page, err := f.in.FPDFDest_GetDestPageIndex(&requests.FPDFDest_GetDestPageIndex{Document: f.doc, Dest: *to.Dest})
	if err != nil {
		return e, false
	}
	e = outlineEntry{Title: bounded(title.Title), Page: page.Index + 1}
	if at, err := f.in.FPDFDest_GetLocationInPage(&requests.FPDFDest_GetLocationInPage{Dest: *to.Dest}); err == nil && at.Y != nil {
		e.Top = *at.Y
	}
	return e, true
}

// saneOutline returns the entries that have a title and a page, or nil if a reader gave too many.
func saneOutline(list []outlineEntry, pages int) []outlineEntry {
	sane := []outlineEntry{}
	if len(list) > maxOutline {
		return sane
	}
	for _, e := range list {
		e.Title = cleanPDFLine(bounded(e.Title))
		if e.Title == "" || e.Page < 1 || e.Page > pages || e.Level < 1 || e.Level > maxOutlineDepth {
			continue
		}
		if !(e.Top > 0 && e.Top < 1e6) {
			e.Top = 0
		}
		sane = append(sane, e)
	}
	return sane
}

// saneAuthor returns who is said to have written a file, or "": programs and user names stand there as well.
func saneAuthor(s string) string {
	s = saneTitle(s)
	switch lower := strings.ToLower(s); {
	case utf8.RuneCountInString(s) > maxLabel, strings.Contains(s, "://"):
		return ""
	case lower == "user" || lower == "admin" || lower == "administrator" || lower == "unknown" || lower == "anonymous" || lower == "author" || lower == "owner" || lower == "root":
		return ""
	}
	return s
}

// saneLanguage returns a language in the canonical form of BCP 47, or "".
func saneLanguage(s string) string {
	s = strings.TrimSpace(strings.Trim(s, "\x00"))
	if s == "" || len(s) > 35 {
		return ""
	}
	tag, err := language.Parse(s)
	if err != nil || tag == language.Und || strings.HasPrefix(strings.ToLower(s), "x-") {
		return ""
	}
	return tag.String()
}

// saneDate returns the day of a date as PDF writes it, D:YYYYMMDD and on (ISO 32000-1, 7.9.4), zero if it is none
// or one that no file can have. The day is that of the place where the file was made.
func saneDate(s string) time.Time {
	s = strings.TrimPrefix(strings.TrimSpace(s), "D:")
	if len(s) < 8 {
		return time.Time{}
	}
	day, err := time.Parse("20060102", s[:8])
	if err != nil || day.Year() < 1980 || day.Year() > 2099 {
		return time.Time{}
	}
	return day
}

// saneLabel returns a page's label, "" if it says no more than the page's number.
func saneLabel(s string, number int) string {
	s = cleanPDFLine(s)
	if !printable(s) || utf8.RuneCountInString(s) > maxPageLabel || s == strconv.Itoa(number) {
		return ""
	}
	return s
}
