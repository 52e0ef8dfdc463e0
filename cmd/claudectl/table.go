package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// table is one section of a page with a table in it.
type table struct {
	Title string     `json:"title"`
	Names []string   `json:"columns"`
	Rows  [][]string `json:"rows"`
}

// readTables finds the tables of a page that the programs of this module have
// made: a heading, a row of names, a row of dashes, rows.
func readTables(page string) []table {
	var tables []table
	title := ""
	begun := false // in a table
	for text := range strings.Lines(page) {
		text = strings.TrimSpace(text)
		if heading, ok := strings.CutPrefix(text, "## "); ok {
			title = heading
		}
		if !strings.HasPrefix(text, "|") {
			begun = false
			continue
		}
		cells := readRow(text)
		switch {
		case !begun:
			tables = append(tables, table{Title: title, Names: cells})
			begun = true
		case strings.HasPrefix(cells[0], "---"):
		default:
			t := &tables[len(tables)-1]
			t.Rows = append(t.Rows, cells)
		}
	}
	return tables
}

func readRow(text string) []string {
	cells := strings.Split(strings.Trim(text, "|"), "|")
	for i, cell := range cells {
		cells[i] = strings.ReplaceAll(strings.TrimSpace(cell), "`", "")
	}
	return cells
}

// write writes the table as text, in columns.
func (t *table) write(w io.Writer) {
	widths := make([]int, len(t.Names))
	rows := append([][]string{t.Names}, t.Rows...)
	for _, row := range rows {
		for i, cell := range row[:min(len(row), len(widths))] {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	if t.Title != "" {
		fmt.Fprintf(w, "%s\n", t.Title)
	}
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row[:min(len(row), len(widths))] {
			fmt.Fprintf(&b, "  %-*s", widths[i], cell)
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}
