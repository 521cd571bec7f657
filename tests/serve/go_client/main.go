// Asks a server as programs in Go do, and prints what it answers: a line of JSON for every question.
//
//	pgx-simple    a text and nothing else, answers as text: how Grafana asks today
//	pgx           prepared, described, values and answers as bytes
//	pq            database/sql with lib/pq: how Grafana asked before
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/lib/pq"
)

type question struct {
	Way  string
	SQL  string
	Args []any
}

type answer struct {
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"`
	Error   string   `json:"error"`
}

func main() {
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	defer stop()
	pool, err := pgxpool.New(ctx, os.Args[1])
	check(err)
	defer pool.Close()
	check(pool.Ping(ctx))
	db, err := sql.Open("postgres", os.Args[1]+"?sslmode=disable")
	check(err)
	defer db.Close()
	check(db.Ping())
	var questions []question
	check(json.NewDecoder(os.Stdin).Decode(&questions))
	for _, asked := range questions {
		found, err := ask(ctx, pool, db, asked)
		if err != nil {
			found.Error = err.Error()
		}
		check(json.NewEncoder(os.Stdout).Encode(found))
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func ask(ctx context.Context, pool *pgxpool.Pool, db *sql.DB, asked question) (answer, error) {
	if asked.Way == "pq" {
		rows, err := db.QueryContext(ctx, asked.SQL, asked.Args...)
		if err != nil {
			return answer{}, err
		}
		defer rows.Close()
		return scanned(rows)
	}
	args := asked.Args
	for place, value := range args {
		if list, isList := value.([]any); isList { // JSON has no lists of texts
			texts := make([]string, len(list))
			for at, one := range list {
				texts[at] = fmt.Sprint(one)
			}
			args[place] = texts
		}
	}
	if asked.Way == "pgx-simple" {
		args = append([]any{pgx.QueryExecModeSimpleProtocol}, args...)
	}
	rows, err := pool.Query(ctx, asked.SQL, args...)
	if err != nil {
		return answer{}, err
	}
	defer rows.Close()
	found := answer{}
	for _, field := range rows.FieldDescriptions() {
		found.Columns = append(found.Columns, field.Name)
	}
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return found, err
		}
		found.Rows = append(found.Rows, values)
	}
	return found, rows.Err()
}

func scanned(rows *sql.Rows) (answer, error) {
	names, err := rows.Columns()
	found := answer{Columns: names}
	for err == nil && rows.Next() {
		values, places := make([]any, len(names)), make([]any, len(names))
		for at := range values {
			places[at] = &values[at]
		}
		err = rows.Scan(places...)
		for at, value := range values {
			if text, isText := value.([]byte); isText { // of a NUMERIC or an array
				values[at] = string(text)
			}
		}
		found.Rows = append(found.Rows, values)
	}
	if err == nil {
		err = rows.Err()
	}
	return found, err
}
