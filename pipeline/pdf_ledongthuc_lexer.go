package pipeline

import (
	"math"
	"strconv"
)

// A pdfToken is an operand or an operator of a content stream or of a character map.
type pdfToken struct {
	kind pdfTokenKind
	text string     // a name without its slash, an operator, a string's bytes
	num  float64    // of a number
	list []pdfToken // of an array; of a dictionary, keys and values in turn
}

type pdfTokenKind byte

const (
	pdfEnd pdfTokenKind = iota
	pdfNumber
	pdfName
	pdfString
	pdfArray
	pdfDict
	pdfOperator
	pdfClose // the end of an array or a dictionary
)

// A pdfLexer cuts data into tokens. What is malformed is read as something, never refused: the text behind
// it counts. (PDF 1.7, 7.2 and 7.3)
type pdfLexer struct {
	data  []byte
	at    int
	depth int
}

// maxPDFDepth bounds how deep arrays and dictionaries nest.
const maxPDFDepth = 64

func pdfSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func pdfDelimiter(c byte) bool {
	switch c {
	case '(', ')', '<', '>', '[', ']', '{', '}', '/', '%':
		return true
	}
	return false
}

func (l *pdfLexer) skipSpace() {
	for l.at < len(l.data) {
		switch c := l.data[l.at]; {
		case pdfSpace(c):
			l.at++
		case c == '%':
			for l.at < len(l.data) && l.data[l.at] != '\n' && l.data[l.at] != '\r' {
				l.at++
			}
		default:
			return
		}
	}
}

// next returns the next token, of kind pdfEnd at the end.
func (l *pdfLexer) next() pdfToken {
	for {
		l.skipSpace()
		if l.at >= len(l.data) {
			return pdfToken{}
		}
		c := l.data[l.at]
		switch c {
		case '(':
			return pdfToken{kind: pdfString, text: l.literal()}
		case '/':
			l.at++
			return pdfToken{kind: pdfName, text: l.name()}
		case '[':
			l.at++
			return pdfToken{kind: pdfArray, list: l.list()}
		case '<':
			l.at++
			if l.at < len(l.data) && l.data[l.at] == '<' {
				l.at++
				return pdfToken{kind: pdfDict, list: l.list()}
			}
			return pdfToken{kind: pdfString, text: l.hex()}
		case ']':
			l.at++
			return pdfToken{kind: pdfClose}
		case '>':
			l.at++
			if l.at < len(l.data) && l.data[l.at] == '>' {
				l.at++
				return pdfToken{kind: pdfClose}
			}
			continue
		case ')', '{', '}':
			l.at++
			continue
		}
		start := l.at
		for l.at < len(l.data) && !pdfSpace(l.data[l.at]) && !pdfDelimiter(l.data[l.at]) {
			l.at++
		}
		word := l.data[start:l.at]
		if n, ok := pdfNumberOf(word); ok {
			return pdfToken{kind: pdfNumber, num: n}
		}
		return pdfToken{kind: pdfOperator, text: string(word)}
	}
}

// list reads up to the end of an array or a dictionary. Operators in it, such as null and true, stand for
// themselves.
func (l *pdfLexer) list() (tokens []pdfToken) {
	l.depth++
	defer func() { l.depth-- }()
	for l.depth <= maxPDFDepth {
		t := l.next()
		if t.kind == pdfEnd || t.kind == pdfClose {
			break
		}
		tokens = append(tokens, t)
	}
	return tokens
}

// pdfNumberOf reads a number; signs and dots too many, which programs write, are forgiven.
func pdfNumberOf(word []byte) (float64, bool) {
	if c := word[0]; c != '+' && c != '-' && c != '.' && (c < '0' || c > '9') {
		return 0, false
	}
	var whole, scale float64 = 0, 1
	negative, digits, dot := false, 0, false
	for i, c := range word {
		switch {
		case c == '-' && digits == 0:
			negative = true
		case c == '-': // 0.00-35: the rest is lost, as with other readers
			return sign(whole/scale, negative), true
		case c == '+' && i == 0:
		case c == '.' && !dot:
			dot = true
		case c >= '0' && c <= '9':
			digits++
			if whole < 1e17 {
				whole = float64(whole*10) + float64(c-'0')
				if dot {
					scale *= 10
				}
			}
		default:
			n, err := strconv.ParseFloat(string(word), 64) // 1e5, which no PDF may hold
			return n, err == nil && !math.IsInf(n, 0) && !math.IsNaN(n)
		}
	}
	return sign(whole/scale, negative), digits > 0 || dot
}

func sign(x float64, negative bool) float64 {
	if negative {
		return -x
	}
	return x
}

func (l *pdfLexer) literal() string {
	var b []byte
	depth := 1
	for l.at++; l.at < len(l.data); l.at++ {
		c := l.data[l.at]
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				l.at++
				return string(b)
			}
		case '\r':
			if l.at+1 < len(l.data) && l.data[l.at+1] == '\n' {
				continue
			}
			c = '\n'
		case '\\':
			l.at++
			if l.at >= len(l.data) {
				return string(b)
			}
			switch c = l.data[l.at]; c {
			case 'n':
				c = '\n'
			case 'r':
				c = '\r'
			case 't':
				c = '\t'
			case 'b':
				c = '\b'
			case 'f':
				c = '\f'
			case '\n':
				continue
			case '\r':
				if l.at+1 < len(l.data) && l.data[l.at+1] == '\n' {
					l.at++
				}
				continue
			case '0', '1', '2', '3', '4', '5', '6', '7':
				n := int(c - '0')
				for range 2 {
					if l.at+1 >= len(l.data) || l.data[l.at+1] < '0' || l.data[l.at+1] > '7' {
						break
					}
					l.at++
					n = n*8 + int(l.data[l.at]-'0')
				}
				c = byte(n)
			}
		}
		b = append(b, c)
	}
	return string(b)
}

func (l *pdfLexer) hex() string {
	var b []byte
	half := -1
	for ; l.at < len(l.data); l.at++ {
		c := l.data[l.at]
		if c == '>' {
			l.at++
			break
		}
		n := hexDigit(c)
		if n < 0 {
			continue
		}
		if half < 0 {
			half = n
		} else {
			b = append(b, byte(half<<4|n))
			half = -1
		}
	}
	if half >= 0 {
		b = append(b, byte(half<<4))
	}
	return string(b)
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func (l *pdfLexer) name() string {
	var b []byte
	for ; l.at < len(l.data); l.at++ {
		c := l.data[l.at]
		if pdfSpace(c) || pdfDelimiter(c) {
			break
		}
		if c == '#' && l.at+2 < len(l.data) {
			if hi, lo := hexDigit(l.data[l.at+1]), hexDigit(l.data[l.at+2]); hi >= 0 && lo >= 0 {
				c = byte(hi<<4 | lo)
				l.at += 2
			}
		}
		b = append(b, c)
	}
	return string(b)
}

// skipImage moves behind the data of an inline image, from behind its ID operator.
func (l *pdfLexer) skipImage() {
	for i := l.at; i+1 < len(l.data); i++ {
		if l.data[i] != 'E' || l.data[i+1] != 'I' || i > l.at && !pdfSpace(l.data[i-1]) || i+2 < len(l.data) && !pdfSpace(l.data[i+2]) {
			continue
		}
		// The image's bytes can hold EI too: behind the real one text goes on.
		text := true
		for _, c := range l.data[i+2 : min(i+22, len(l.data))] {
			text = text && (c < 127 && c >= 32 || pdfSpace(c) && c != 0)
		}
		if text {
			l.at = i + 2
			return
		}
	}
	l.at = len(l.data)
}
