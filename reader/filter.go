package reader

import "example.com/larder/artifact"

// Filters restrict a search to documents with certain metadata, before anything is ranked. Fields are combined with
// and, the values of one field with or.
type Filters struct {
	ContentType []string // [artifact.DefaultContentType] also lets through documents without one
	Topics      []string
	UnitID      []string
	// DateFrom and DateTo are days as YYYY-MM-DD, inclusive; "" is an open end. Documents without a date are left out
	// as soon as one of them is given.
	DateFrom, DateTo string
}

func (f Filters) empty() bool {
	return len(f.ContentType)+len(f.Topics)+len(f.UnitID)+len(f.DateFrom)+len(f.DateTo) == 0
}

// A fieldFilter lets through what has one of the values in a field.
type fieldFilter struct {
	name   string
	values []string
}

func (f Filters) fields(a *artifact.Artifact) (list []fieldFilter) {
	for _, one := range []fieldFilter{
		{artifact.FieldContentType, f.ContentType}, {artifact.FieldTopics, f.Topics}, {artifact.FieldUnitID, f.UnitID},
	} {
		if len(one.values) > 0 {
			list = append(list, one)
		}
	}
	if f.DateFrom == "" && f.DateTo == "" {
		return list
	}
	days := fieldFilter{name: artifact.FieldDate}
	for _, day := range a.FilterValues(artifact.FieldDate) { // days compare as strings
		if day >= f.DateFrom && (f.DateTo == "" || day <= f.DateTo) {
			days.values = append(days.values, day)
		}
	}
	return append(list, days)
}
