// ignition-convert answers what a config of Ignition spec 2.x is in spec 3, by the libraries that the
// Machine Config Operator converts with: one JSON text per line of stdin, one JSON answer per line of stdout.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"log"
	"os"

	"github.com/coreos/ign-converter/translate/v23tov30"
	"github.com/coreos/ignition/config/v2_2"
	"github.com/coreos/ignition/config/v2_3"
	"github.com/coreos/ignition/v2/config/v3_0/types"
)

type answer struct {
	Converted *types.Config `json:"converted,omitempty"`
	Error     string        `json:"error,omitempty"`
}

func converted(text string) (*types.Config, error) {
	config, report, err := v2_2.Parse([]byte(text))
	if err != nil {
		return nil, err
	}
	if report.IsFatal() {
		return nil, errors.New(report.String())
	}
	result, err := v23tov30.Translate(v2_3.Translate(config), map[string]string{"root": "/"})
	return &result, err
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<26)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var text string
		if err := json.Unmarshal(lines.Bytes(), &text); err != nil {
			log.Fatal(err)
		}
		result, err := converted(text)
		reply := answer{Converted: result}
		if err != nil {
			reply = answer{Error: err.Error()}
		}
		if err := answers.Encode(reply); err != nil {
			log.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}
