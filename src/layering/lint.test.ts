import { describe, expect, it } from 'vitest';
import { lintFile } from './lint.ts';

const good = `apiVersion: machineconfiguration.openshift.io/v1
kind: MachineOSConfig
metadata:
  name: worker
spec:
  machineConfigPool:
    name: worker
  imageBuilder:
    imageBuilderType: Job
  renderedImagePushSecret:
    name: push
  renderedImagePushSpec: registry.example.com/ocl/worker:latest
  containerFile:
  - content: |
      FROM configs AS final
      RUN rpm-ostree install tcpdump && ostree container commit
`;

const lines = (text: string, path = 'os.yaml'): readonly string[] =>
  lintFile({ path, text }).map(({ place, severity, message }) => `${place} ${severity} ${message}`);

describe('lintFile', () => {
  it('has nothing to say of a good MachineOSConfig', () => {
    expect(lines(good)).toEqual([]);
  });

  it.each([
    ['name: worker\nspec', 'name: infra\nspec', /^os\.yaml:4 error <nil>: .* write the name/],
    ['Job', 'Pod', /^os\.yaml:9 error spec\.imageBuilder\.imageBuilderType: Unsupported value/],
    ['    name: push\n', '    other: 1\n', /^os\.yaml:10 error .*: Required value: write spec\.r/],
    ['registry.example.com', 'localhost', /^os\.yaml:12 error .* Write HOST\.DOMAIN/],
    ['ocl/worker:', 'a/b/worker:', /^os\.yaml:12 error .* at most one namespace/],
    ['&& ostree container commit', '', /^os\.yaml:16 warning .* \[final-commit\]$/],
    ['  - content', '  - containerfileArch: ARM64\n    content', /^os\.yaml:14 error .*NoArch$/],
    ['spec:', 'status:\n  observedGeneration: -1\nspec:', /^os\.yaml:6 error status\.observedG/],
  ])('finds what is wrong with %j', (from, to, expected) => {
    const found = lines(good.replace(from, to));
    expect(found).toEqual([expect.stringMatching(expected)]);
  });

  it('asks the rules too that a server would only ask in the next attempt', () => {
    const found = lines(good.replace('Job', 'Pod').replace('registry.example.com', 'localhost'));
    expect(found.map((line) => line.split(' ')[0])).toEqual(['os.yaml:9', 'os.yaml:12']);
  });

  it.each(['Containerfile', 'a/b.Dockerfile', 'master.txt'])(
    'takes %s for a Containerfile',
    (path) => {
      expect(lines('# mine\nFROM configs AS final\nRUN x\n', path)).toEqual([
        expect.stringMatching(`^${path}:3 warning .* \\[final-commit\\]$`),
      ]);
    },
  );

  it('refuses another object', () => {
    expect(() => lines('kind: Secret\n')).toThrow(/os\.yaml:1: a MachineOSConfig .* is expected/);
  });
});
