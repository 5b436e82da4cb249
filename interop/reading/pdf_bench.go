package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"example.com/larder/pipeline"
)

// benchPDF measures pages per second of each engine and of pdftotext, one file at a time, so that each uses one
// core, and their ratios. Files are those of DATA that pdfium reads; malicious ones and those of more than 400 pages
// are left out. In each round all readers read all files, one reader after the other; the medians over rounds count.
func benchPDF(w io.Writer, args []string) error {
	flags := flag.NewFlagSet("pdf-bench", flag.ContinueOnError)
	rounds := flags.Int("rounds", 3, "how often all files are read")
	only := flags.String("only", "", "a JSON `file` with the list of the KIND/NAME.pdf to read")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 || *rounds < 1 {
		return errors.New("pdf-bench [--rounds N] [--only LIST.json] DATA: name the folder that holds files/")
	}
	names, err := pdfNames(flags.Arg(0), *only)
	if err != nil {
		return err
	}
	readers := []*pdfBenchReader{}
	for _, name := range []string{"pdfium", "ledongthuc"} {
		engine, err := openEngine(name)
		if err != nil {
			return err
		}
		defer engine.Close()
		readers = append(readers, &pdfBenchReader{name: name, read: func(_ string, data []byte) (int, error) {
			pages, err := engine.Pages(context.Background(), data, pipeline.PDFOptions{})
			return len(pages), err
		}})
	}
	if tool, err := exec.LookPath("pdftotext"); err == nil {
		readers = append(readers, &pdfBenchReader{name: "pdftotext", read: func(path string, _ []byte) (int, error) {
			return 0, exec.Command(tool, "-q", path, os.DevNull).Run()
		}})
	}
	type file struct {
		path string
		data []byte
	}
	var files []file
	pages := 0
	for _, name := range names {
		path := filepath.Join(flags.Arg(0), "files", filepath.FromSlash(name))
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if folder, _ := filepath.Split(name); folder == "malicious/" {
			continue
		}
		n, err := readers[0].read(path, data)
		if err != nil || n == 0 || n > 400 {
			continue
		}
		files = append(files, file{path, data})
		pages += n
	}
	if len(files) == 0 {
		return errors.New("no file to read")
	}
	for range *rounds {
		for _, r := range readers {
			start := time.Now()
			for _, f := range files {
				if _, err := r.read(f.path, f.data); err != nil {
					r.failed++
				}
			}
			r.times = append(r.times, time.Since(start))
		}
	}
	fmt.Fprintf(w, "%d files of %d pages, %d rounds, medians\n\n%-12s %12s %12s %8s\n", len(files), pages, *rounds, "reader", "pages/s", "ms a page", "failed")
	rate := map[string]float64{}
	for _, r := range readers {
		slices.Sort(r.times)
		median := r.times[len(r.times)/2].Seconds()
		rate[r.name] = float64(pages) / median
		fmt.Fprintf(w, "%-12s %12.0f %12.2f %8d\n", r.name, rate[r.name], 1000*median/float64(pages), r.failed / *rounds)
	}
	fmt.Fprintln(w)
	if rate["pdftotext"] == 0 {
		fmt.Fprintln(w, "pdftotext did not run: it is not installed")
		return nil
	}
	for _, r := range readers[:2] {
		fmt.Fprintf(w, "%s takes %.2f times as long as pdftotext\n", r.name, rate["pdftotext"]/rate[r.name])
	}
	return nil
}

type pdfBenchReader struct {
	name   string
	read   func(path string, data []byte) (pages int, err error)
	times  []time.Duration
	failed int
}
