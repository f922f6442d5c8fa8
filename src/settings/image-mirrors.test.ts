import { describe, expect, it } from 'vitest';
import { mirrorProblem, renderMirrors } from './image-mirrors.ts';

describe('mirrorProblem', () => {
  it.each([
    'quay.io',
    'quay.io/openshift-release-dev/ocp-v4.0-art-dev',
    'mirror.example.com:8443/openshift',
    'localhost/a',
    'registry:5000',
    '192.0.2.7/a',
    '[2001:db8::1]:5000/a',
  ])('accepts %s as a source and as a mirror', (name) => {
    expect(mirrorProblem([{ source: name, mirrors: [name] }])).toBeUndefined();
  });

  it.each([
    '',
    'https://mirror.example.com',
    'docker://mirror.example.com/a',
    'quay.io/a:4.20',
    'quay.io/a@sha256:00',
    'openshift/release',
    'Quay.io/A',
    'Quay.io/a',
    'quay.io:65536/a',
    '[::1::]:5000',
    'quay.io/a/',
    '*.example.com',
    '192.000.002.007/a',
    '10.5:5000',
    'user:secret@mirror.example.com',
  ])('refuses %j as a source and as a mirror', (name) => {
    const problem = `${JSON.stringify(name)} is not HOST[:PORT][/PATH] in lower case, without a scheme, a tag and a digest`;
    expect(mirrorProblem([{ source: name, mirrors: ['m.example.com'] }])).toBe(problem);
    expect(mirrorProblem([{ source: 'quay.io', mirrors: ['m.example.com', name] }])).toBe(problem);
  });

  it('refuses a duplicate source', () => {
    const one = { source: 'quay.io', mirrors: ['m.example.com'] };
    expect(mirrorProblem([one, { ...one, source: 'quay.io/a' }, one])).toMatch(/^"quay.io" is the/);
  });
});

it('renderMirrors writes the format of containers-registries.conf', () => {
  expect(
    renderMirrors([
      { source: 'quay.io/a', mirrors: ['m.example.com:8443/a', 'n.example.com'] },
      { source: 'quay.io/b', mirrors: ['m.example.com:8443/b'] },
    ]),
  ).toBe(`[[registry]]
prefix = ""
location = "quay.io/a"
mirror-by-digest-only = true

[[registry.mirror]]
location = "m.example.com:8443/a"

[[registry.mirror]]
location = "n.example.com"

[[registry]]
prefix = ""
location = "quay.io/b"
mirror-by-digest-only = true

[[registry.mirror]]
location = "m.example.com:8443/b"
`);
  expect(renderMirrors([])).toBe('');
});

it.each([
  ['NeverContactSource', ['m.example.com'], true],
  ['NeverContactSource', ['quay.io/a', 'm.example.com'], true],
  ['AllowContactingSource', ['m.example.com'], false],
  // The Machine Config Operator does not block it either: no image could be pulled.
  ['NeverContactSource', ['quay.io/a'], false],
] as const)('with %s and mirrors %j, blocked is %s', (sourcePolicy, mirrors, isBlocked) => {
  const text = renderMirrors([{ source: 'quay.io/a', mirrors, sourcePolicy }]);
  const [source] = text.split('[[registry.mirror]]');
  expect(source?.includes('\nblocked = true\n')).toBe(isBlocked);
});
