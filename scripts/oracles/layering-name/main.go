// layering-name answers with the name that the Machine Config Operator gives a MachineOSBuild: one JSON request
// per line of stdin, one JSON answer per line of stdout. The types are OpenShift's own, and the YAML libraries
// are those of the operator, whose emitter is a part of the recipe. The objects are given as JSON texts.
package main

import (
	"bufio"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/ghodss/yaml"
	mcfgv1 "github.com/openshift/api/machineconfiguration/v1"
)

type request struct {
	// The 80 bytes that come before the objects, in hex.
	Salt string `json:"salt"`
	// A MachineOSConfig, a MachineConfigPool and the four fields of the images, as JSON.
	Config json.RawMessage `json:"config"`
	Pool   json.RawMessage `json:"pool"`
	Images json.RawMessage `json:"images"`
	// The MachineOSConfig as the text of a file; it is made JSON as kubectl makes it, and stands in for Config.
	ConfigFile string `json:"configFile"`
}

// images has no tags: the operator's own type has none either, so Go's names are the keys.
type images struct {
	BaseOSContainerImage           string
	BaseOSExtensionsContainerImage string
	OSImageURL                     string
	ReleaseVersion                 string
}

type answer struct {
	Name  string   `json:"name,omitempty"`
	Yaml  []string `json:"yaml,omitempty"`
	Error string   `json:"error,omitempty"`
}

func answerTo(req request) (answer, error) {
	var config mcfgv1.MachineOSConfig
	var pool mcfgv1.MachineConfigPool
	var urls images
	for _, pair := range []struct {
		text []byte
		into any
	}{{req.Config, &config}, {req.Pool, &pool}, {req.Images, &urls}} {
		if err := json.Unmarshal(pair.text, pair.into); err != nil {
			return answer{}, err
		}
	}
	if req.ConfigFile != "" {
		text, err := yaml.YAMLToJSON([]byte(req.ConfigFile))
		if err != nil {
			return answer{}, err
		}
		if err := json.Unmarshal(text, &config); err != nil {
			return answer{}, err
		}
	}
	salt, err := hex.DecodeString(req.Salt)
	if err != nil {
		return answer{}, err
	}
	digest := md5.New()
	digest.Write(salt)
	given := answer{}
	for _, object := range []any{pool.Spec.Configuration, config.Spec, &urls} {
		text, err := yaml.Marshal(object)
		if err != nil {
			return answer{}, err
		}
		digest.Write(text)
		given.Yaml = append(given.Yaml, string(text))
	}
	given.Name = fmt.Sprintf("%s-%x", config.Name, digest.Sum(nil))
	return given, nil
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
		given, err := answerTo(req)
		if err != nil {
			given = answer{Error: err.Error()}
		}
		if err := answers.Encode(given); err != nil {
			log.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}
