// ignition-merge answers questions about Ignition configs with Ignition's own code: one JSON request
// per line of stdin, one JSON answer per line of stdout. A request with a child asks for the merge of
// two configs, one without asks whether the config is valid. Configs are given as strings.
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"os"

	"github.com/coreos/ignition/v2/config/v3_5"
	"github.com/coreos/ignition/v2/config/v3_5/types"
)

type request struct {
	Parent string  `json:"parent"`
	Child  *string `json:"child"`
}

type answer struct {
	Merged *types.Config `json:"merged,omitempty"`
	Error  string        `json:"error,omitempty"`
	Report string        `json:"report,omitempty"`
}

func answerTo(req request) answer {
	parent, report, err := v3_5.ParseCompatibleVersion([]byte(req.Parent))
	if err != nil || req.Child == nil {
		return answer{Error: textOf(err), Report: report.String()}
	}
	child, report, err := v3_5.ParseCompatibleVersion([]byte(*req.Child))
	if err != nil {
		return answer{Error: textOf(err), Report: report.String()}
	}
	merged := v3_5.Merge(parent, child)
	return answer{Merged: &merged}
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<26)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var req request
		if err := json.Unmarshal(lines.Bytes(), &req); err != nil {
			log.Fatal(err)
		}
		if err := answers.Encode(answerTo(req)); err != nil {
			log.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}
