import { Buffer } from 'node:buffer';
import fc from '../../../test/support/properties.ts';
import { describe, expect, it } from 'vitest';
import { lintBytes, lintFile } from './lint.ts';

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
    ['    name: push\n', '    {}\n', /^os\.yaml:10 error .*: Required value: write spec\.r/],
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

  it('finds nothing wrong with what a cluster prints', () => {
    const metadata = `metadata:
  annotations: {a: b}
  creationTimestamp: "2026-01-01T00:00:00Z"
  finalizers: [a.example.com/b]
  generation: 2
  managedFields:
  - apiVersion: machineconfiguration.openshift.io/v1
    fieldsType: FieldsV1
    fieldsV1: {"f:spec": {"f:containerFile": {}}}
    manager: kubectl
    operation: Update
    subresource: status
    time: "2026-01-01T00:00:00Z"
  ownerReferences: [{apiVersion: v1, kind: Node, name: n, uid: u, controller: true}]
  resourceVersion: "5"
  uid: u
`;
    expect(lines(good.replace('metadata:\n', metadata))).toEqual([]);
  });

  const unknown = 'error strict decoding error: unknown field';
  it.each([
    ['containerFile:', 'containerFiles:', `12 ${unknown} "spec.containerFiles": did you mean cont`],
    ['- content', '- contents', `13 ${unknown} "spec.containerFile[0].contents": did you mean con`],
    [
      '    name: push',
      '    nam: a\n    name: push',
      `10 ${unknown} "spec.renderedImagePushSecret.n`,
    ],
    [
      '  name: worker\nspec',
      '  name: worker\n  lables: {}\nspec',
      `4 ${unknown} "metadata.lables"`,
    ],
    ['spec:', 'specs: 1\nspec:', `4 ${unknown} "specs": did you mean spec?`],
    ['spec:', 'status: {phase: 1}\nspec:', `4 ${unknown} "status.phase"`],
    ['spec:', 'spec:\n  zzz: null', `5 ${unknown} "spec.zzz"`],
  ])('tells what no cluster knows: %j as %j', (from, to, expected) => {
    const [found = ''] = lines(good.replace(from, to));
    const [line = '', ...rest] = expected.split(' ');
    expect(found.startsWith(`os.yaml:${Number(line) + 1} ${rest.join(' ')}`), found).toBe(true);
  });

  it('looks at each object of a List, where it stands', () => {
    const item = (text: string): string => `- ${text.trimEnd().replaceAll('\n', '\n  ')}\n`;
    const broken = good.replace('Job', 'Pod').replace('&& ostree container commit', '');
    const list = `apiVersion: v1\nkind: List\nitems:\n${item(good)}${item(broken)}`;
    expect(lines(list)).toEqual([
      expect.stringMatching(/^os\.yaml:28 error spec\.imageBuilder\.imageBuilderType: Unsupported/),
      expect.stringMatching(/^os\.yaml:35 warning .* \[final-commit\]$/),
    ]);
  });

  it.each([
    ['kind: List\nitems:\n- 1\n', /^os\.yaml:3 error .* this entry of the List is not an object$/],
    ['kind: List\nitems:\n- kind: Pod\n', /^os\.yaml:3 error .* and not Pod$/],
    ['kind: Secret\n', /^os\.yaml:1 error a MachineOSConfig of .* is expected, and not Secret$/],
    ['a: 1\n', /^os\.yaml:1 error .* and not something without kind$/],
    [good.replace('v1', 'v1alpha1'), /^os\.yaml:1 error .* not mach.*v1alpha1$/],
    [
      good.replace('name: push', 'name: !!binary aGk='),
      /^os\.yaml:11 error .* must be of type str/,
    ],
  ])('refuses %j', (text, expected) => {
    expect(lines(text)).toEqual([expect.stringMatching(expected)]);
  });

  it('has nothing to say of an empty text, whose image is that of the MachineConfig', () => {
    expect(lines(good.replace(/content: [\s\S]*$/, 'content: ""\n'))).toEqual([]);
  });
});

/** What means something to YAML, to a Containerfile or to a shell. */
const chunks = fc.constantFrom(
  ...['a: ', '&x ', '*x ', '!!binary ', '!!set ', '? ', '- ', '[', '{', '}', ']', '"', "'", '|\n'],
  ...['#', '---\n', '%YAML 1.2\n', '<<: ', 'null', ': ', '\t', '\r', '\u0085', '\\ud800', '\n'],
  ...['kind: List\nitems: ', 'kind: MachineOSConfig\n', 'spec: ', 'metadata: ', 'status: ', '  '],
  ...['apiVersion: machineconfiguration.openshift.io/v1\n', 'containerFile: ', 'content: '],
  ...['FROM configs AS final\n', 'RUN ', 'COPY ', 'ENV ', 'WORKDIR ', '<<E ', 'E\n', '$(', '`'],
  ...['\\', '${A:-', '||', '&&', '>', '(', ')', '--x=', '__proto__: ', '\u{1f600}', '1'],
);

describe('lintBytes', () => {
  it('finds something or nothing in whatever a file holds', () => {
    const cut = fc
      .tuple(fc.nat(good.length), fc.nat(30), fc.array(chunks, { maxLength: 3 }))
      .map(([at, length, more]) => good.slice(0, at) + more.join('') + good.slice(at + length));
    const bytes = fc.oneof(
      fc.array(chunks, { maxLength: 40 }).map((all) => Buffer.from(all.join(''))),
      cut.map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 100 }),
    );
    const property = fc.property(bytes, fc.constantFrom('f', 'Containerfile'), (content, path) => {
      for (const { place, message } of lintBytes(path, content)) {
        expect(place).toMatch(/^(?:f|Containerfile):\d+$/);
        expect(message).not.toBe('');
      }
    });
    fc.assert(property, { numRuns: 500 });
  });
});
